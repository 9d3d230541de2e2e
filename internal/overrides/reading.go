package overrides

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFileBytes bounds the file: a hundred thousand orgs with ten limits each.
const maxFileBytes = 64 << 20

// reading is the file as it was at one moment. Its file stays open, so that it can be looked at again when another has taken its name.
type reading struct {
	file *os.File
	text []byte
	info os.FileInfo
}

// read reads the file at a path. The caller closes the reading.
func read(path string) (*reading, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reading{file: file}
	again, err := r.again()
	if err != nil {
		r.close()
		return nil, err
	}
	return again, nil
}

// again reads the same file once more, whatever its name is by now. The result has the same open file.
func (r *reading) again() (*reading, error) {
	text, err := io.ReadAll(io.NewSectionReader(r.file, 0, maxFileBytes+1))
	info, statErr := r.file.Stat()
	err = errors.Join(err, statErr)
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s has more than %d MiB", r.file.Name(), maxFileBytes>>20)
	}
	return &reading{file: r.file, text: text, info: info}, err
}

func (r *reading) close() { _ = r.file.Close() } // nothing was written

// isSame reports whether nothing was written between two readings. Equal texts do not tell that: two edits may be cut off at one place.
func (r *reading) isSame(before *reading) bool {
	return before != nil && os.SameFile(r.info, before.info) && r.info.ModTime().Equal(before.info.ModTime()) &&
		bytes.Equal(r.text, before.text)
}

// alone reads the same file once more while nobody can open it for writing. It returns nothing when somebody has it open so, busy, or when
// the system cannot tell.
func (r *reading) alone() (text []byte, busy bool) {
	release, busy := lease(r.file)
	if release == nil {
		return nil, busy
	}
	defer release()
	again, err := r.again()
	if err != nil {
		return nil, false
	}
	return again.text, false
}
