package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// headBytes is how much of a file's beginning identifies it.
const headBytes = 64 << 10

// source is an opened input.
type source struct {
	plain  io.Reader // the lines
	file   *os.File  // nil for standard input
	raw    *counter  // bytes of the file read
	size   int64     // of the file; 0 = not known
	packed bool
	closer func()
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// openSource opens a file by its name, or in for "-".
func openSource(name string, in io.Reader) (*source, error) {
	if name == "-" {
		c := &counter{r: in}
		return &source{plain: c, raw: c, closer: func() {}}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the input: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file (pipe it in: cat FILE | millstream import -)", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s := &source{file: f, raw: &counter{r: f}, size: info.Size(), closer: func() {}}
	if err := s.inflate(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// inflate chooses the reader by the file's name.
func (s *source) inflate(name string) error {
	s.plain = s.raw
	switch {
	case s.size == 0:
	case strings.HasSuffix(name, ".gz"):
		z, err := gzip.NewReader(s.raw)
		if err != nil {
			return fmt.Errorf("%s is no gzip file: %w", name, err)
		}
		s.plain, s.packed = z, true
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewReader(s.raw)
		if err != nil {
			return fmt.Errorf("%s is no zstd file: %w", name, err)
		}
		s.plain, s.packed, s.closer = z, true, z.Close
	}
	return nil
}

// Close closes the file.
func (s *source) Close() error {
	s.closer()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// done returns the bytes of the file that are read.
func (s *source) done() int64 { return s.raw.n }

// skip passes over the first bytes of the lines.
func (s *source) skip(offset int64) error {
	if s.file != nil && !s.packed {
		if _, err := s.file.Seek(offset, io.SeekStart); err != nil {
			return fmt.Errorf("go to offset %d: %w", offset, err)
		}
		s.raw.n = offset
		return nil
	}
	if _, err := io.CopyN(io.Discard, s.plain, offset); err != nil {
		return fmt.Errorf("go to offset %d: %w", offset, err)
	}
	return nil
}

// fileIdentity tells a file from another of the same name. A file that only grew has the same identity.
type fileIdentity struct {
	Size int64  `json:"size"` // when last seen
	Head int64  `json:"head"` // bytes that Hash covers
	Hash string `json:"sha256"`
}

// identify hashes the first head bytes of the file, headBytes if head is 0. Reading goes on where it was.
func (s *source) identify(head int64) (fileIdentity, error) {
	if head == 0 {
		head = min(s.size, headBytes)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(s.file, 0, head))
	if err != nil {
		return fileIdentity{}, fmt.Errorf("read the beginning of the file: %w", err)
	}
	return fileIdentity{Size: s.size, Head: n, Hash: hex.EncodeToString(h.Sum(nil))}, nil
}
