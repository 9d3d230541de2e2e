package ingress

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/millstream/millstream/internal/fault"
)

// snappyMagic begins a framed snappy stream; a body of the block format cannot begin with it (it would state 255 MiB and a copy
// before any literal).
const snappyMagic = "\xff\x06\x00\x00sNaPpY"

// maxZstdWindow bounds the memory that a zstd frame may ask for.
const maxZstdWindow = 32 << 20

// Inflate returns the plain bytes of a body with the given Content-Encoding (empty, identity, gzip, deflate, zstd, snappy; others
// are fault.Unsupported). Reading more than limit plain bytes fails with fault.TooLarge, corrupt input with fault.Invalid. A limit
// of 0 is none, except that a snappy block, which has to be held whole, is then bounded by blockLimit.
func Inflate(body io.Reader, encoding string, limit, blockLimit int64) (io.ReadCloser, error) {
	var plain io.Reader
	closer := func() error { return nil }
	switch encoding = strings.ToLower(strings.TrimSpace(encoding)); encoding {
	case "", "identity":
		plain = body
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, corrupt(encoding, err)
		}
		plain, closer = z, z.Close
	case "deflate":
		r, err := deflateReader(body)
		if err != nil {
			return nil, corrupt(encoding, err)
		}
		plain, closer = r, r.Close
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, corrupt(encoding, err)
		}
		plain, closer = z, func() error { z.Close(); return nil }
	case "snappy", "x-snappy-framed":
		r, err := snappyReader(body, limit, blockLimit)
		if err != nil {
			return nil, err
		}
		plain = r
	default:
		return nil, fault.New(fault.Unsupported,
			"content encoding %.32q is not read here (gzip, deflate, zstd, snappy and identity are)", encoding)
	}
	return &inflated{r: plain, close: closer, encoding: encoding, limit: limit}, nil
}

func corrupt(encoding string, err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Invalid, err, "the body is no valid %s", encoding)
}

// deflateReader reads the zlib form that HTTP calls deflate, and the raw form that some senders mean by it.
func deflateReader(body io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReader(body)
	head, err := b.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// snappyReader reads both forms of snappy, told apart by the first bytes.
func snappyReader(body io.Reader, limit, blockLimit int64) (io.Reader, error) {
	b := bufio.NewReader(body)
	if head, _ := b.Peek(len(snappyMagic)); string(head) == snappyMagic {
		return s2.NewReader(b, s2.ReaderMaxBlockSize(1<<20)), nil
	}
	if limit <= 0 {
		limit = blockLimit
	}
	packed, err := io.ReadAll(io.LimitReader(b, limit+1))
	if err != nil {
		return nil, corrupt("snappy", err)
	}
	plain, err := SnappyBlock(packed, limit)
	return bytes.NewReader(plain), err
}

// SnappyBlock decodes a snappy block whose plain size is at most limit. Nothing is allocated for a larger one.
func SnappyBlock(packed []byte, limit int64) ([]byte, error) {
	n, err := s2.DecodedLen(packed)
	if err != nil {
		return nil, corrupt("snappy", err)
	}
	if int64(n) > limit || int64(len(packed)) > limit {
		return nil, tooLarge(limit)
	}
	// A block's plain size is at most 64 bytes for each three packed ones (copies); a header that claims more is a lie.
	if int64(n) > 64*int64(len(packed)) {
		return nil, fault.New(fault.Invalid, "the body is no valid snappy: its header claims %d bytes", n)
	}
	plain, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, corrupt("snappy", err)
	}
	return plain, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "the body is larger than %d bytes inflated (intake.max_body_size)", limit)
}

// inflated bounds and counts the plain bytes, and gives errors their kind.
type inflated struct {
	r        io.Reader
	close    func() error
	encoding string
	limit, n int64
}

func (f *inflated) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.n += int64(n)
	if f.limit > 0 && f.n > f.limit {
		return 0, tooLarge(f.limit)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = corrupt(f.encodingName(), err)
	}
	return n, err
}

func (f *inflated) encodingName() string {
	if f.encoding == "" || f.encoding == "identity" {
		return "body: it was cut short"
	}
	return f.encoding
}

func (f *inflated) Close() error { return f.close() }
