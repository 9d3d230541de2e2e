package wire

import (
	"errors"
	"io"
	"math"

	"github.com/millstream/millstream/internal/fault"
)

// readBlock is how much is read at once.
const readBlock = 256 << 10

// Body reads a request's body row by row, as lines or as elements of JSON, holding at most one row of the limit and one block,
// however long the rows are. Errors of the reader keep their kind; one without a kind is Invalid, since the sender cut the body
// short.
type Body struct {
	r        io.Reader
	buf      []byte
	pos, end int // unread bytes are buf[pos:end]
	rowLimit int
	total    int64 // bytes read so far
	maxTotal int64
	number   int // of lines begun
	lineFrom int // place in buf of the last line, for Unread
	err      error
}

// NewBody returns a Body over r whose rows have at most rowLimit bytes.
func NewBody(r io.Reader, rowLimit int) *Body {
	return &Body{r: r, rowLimit: rowLimit, maxTotal: math.MaxInt64, buf: make([]byte, min(rowLimit+2, readBlock)+readBlock)}
}

// LimitTotal makes reading past maxBytes of the body fail with TooLarge.
func (b *Body) LimitTotal(maxBytes int64) { b.maxTotal = maxBytes }

// Begin skips a byte order mark and white space at the start and returns the first byte of text without taking it; io.EOF when
// there is none.
func (b *Body) Begin() (byte, error) {
	const mark = "\xef\xbb\xbf"
	for b.end < len(mark) {
		if err := b.fill(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
	}
	if b.end >= len(mark) && string(b.buf[:len(mark)]) == mark {
		b.pos = len(mark)
	}
	return b.skipSpace()
}

// skipSpace skips white space and returns the next byte without taking it.
func (b *Body) skipSpace() (byte, error) {
	for {
		for ; b.pos < b.end; b.pos++ {
			switch c := b.buf[b.pos]; c {
			case '\n':
				b.number++
			case ' ', '\t', '\r':
			default:
				return c, nil
			}
		}
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
}

// fill reads more bytes behind those held.
func (b *Body) fill() error {
	if b.err != nil {
		return b.err
	}
	if b.pos > 0 && len(b.buf)-b.end < readBlock/2 {
		copy(b.buf, b.buf[b.pos:b.end])
		b.pos, b.end = 0, b.end-b.pos
	}
	if b.end == len(b.buf) {
		b.buf = append(b.buf, make([]byte, min(len(b.buf), b.rowLimit+2+readBlock-len(b.buf)))...)
	}
	const attempts = 100
	for range attempts {
		n, err := b.r.Read(b.buf[b.end:])
		b.end += n
		b.total += int64(n)
		switch {
		case b.total > b.maxTotal:
			b.err = fault.New(fault.TooLarge, "the body has more than %d bytes", b.maxTotal)
			return b.err
		case err != nil:
			b.err = BodyError(err)
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return b.err
		}
	}
	b.err = BodyError(io.ErrNoProgress)
	return b.err
}

// BodyError gives an error of reading a request's body its kind: io.EOF and errors that have a kind stay as they are, any other
// is the sender's.
func BodyError(err error) error {
	if errors.Is(err, io.EOF) || fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Invalid, err, "the body ended before its time")
}
