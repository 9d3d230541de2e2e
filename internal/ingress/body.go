package ingress

import (
	"errors"
	"io"
	"sync"
)

// pieceBytes is the size of the pieces in which a body of unknown size is read.
const pieceBytes = 256 << 10

// pieces reads bodies whole into memory of exactly their size. A slice that grows with its body would leave several times the body
// behind as garbage, and one that turns out to be too large, such as a bomb, would leave all of that for nothing; here it takes at most
// its limit, and the next one uses the same memory. Safe for concurrent use.
type pieces struct{ free sync.Pool }

// readAll reads r to its end. The result belongs to the caller. Each piece's bytes are held first; what cannot be held is not read on.
func (p *pieces) readAll(r io.Reader, h *held) ([]byte, error) {
	var full []*[pieceBytes]byte
	defer func() {
		for _, piece := range full {
			p.free.Put(piece)
		}
	}()
	for {
		piece, ok := p.free.Get().(*[pieceBytes]byte)
		if !ok {
			piece = new([pieceBytes]byte)
		}
		full = append(full, piece)
		n, err := fill(piece[:], r)
		if n > 0 && (err == nil || errors.Is(err, io.EOF)) {
			if refusal := h.take(int64(n)); refusal != nil {
				return nil, refusal
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return join(full, n), nil
		case err != nil:
			return nil, err
		}
	}
}

// fill reads until p is full or r has an error, which it returns as it is: io.ReadFull makes an end in the middle of p the same error as
// a body that was cut short.
func fill(p []byte, r io.Reader) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// join copies the pieces, of the last one n bytes.
func join(full []*[pieceBytes]byte, n int) []byte {
	last := len(full) - 1
	out := make([]byte, 0, last*pieceBytes+n)
	for _, piece := range full[:last] {
		out = append(out, piece[:]...)
	}
	return append(out, full[last][:n]...)
}
