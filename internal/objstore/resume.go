package objstore

import (
	"errors"
	"io"
	"math"

	"github.com/millstream/millstream/internal/fault"
)

// wholeObject as a length means up to the end.
const wholeObject = math.MaxInt64

// resumed reads an object and opens the rest of it anew when a read breaks off in the middle.
type resumed struct {
	body   io.ReadCloser
	off    int64 // of the next byte in the object
	left   int64 // bytes up to the end of the range, wholeObject when unknown
	reopen func(off, length int64) (io.ReadCloser, error)
	broken func(err error) bool // is it worth to read on after this error?
	tries  int                  // how often without a byte in between
	failed int                  // breaks since the last byte
}

// Read implements io.Reader.
func (r *resumed) Read(p []byte) (int, error) {
	for {
		n, err := r.body.Read(p)
		r.off += int64(n)
		if r.left != wholeObject {
			r.left -= int64(n)
		}
		if n > 0 {
			r.failed = 0
			if err != nil && r.broken(err) {
				err = nil // the next call meets it again
			}
			return n, err
		}
		if err == nil || !r.broken(err) {
			return 0, err
		}
		r.failed++
		if r.failed >= r.tries || r.left == 0 {
			return 0, err
		}
		body, openErr := r.reopen(r.off, r.left)
		if fault.Is(openErr, fault.Invalid) {
			return 0, io.EOF // nothing is left behind the last byte: it broke at the very end
		}
		if openErr != nil {
			return 0, errors.Join(err, openErr)
		}
		_ = r.body.Close() // it is broken; its error says nothing new
		r.body = body
	}
}

// Close implements io.Closer.
func (r *resumed) Close() error { return r.body.Close() }
