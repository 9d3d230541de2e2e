package ingress

import (
	"bytes"
	"context"
	"io"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
)

// admit charges the inflated bytes of a whole request to the org's rate, before anything is decoded.
func (f *Front) admit(org tenant.ID, size int) error {
	err := f.rate.Take(org, int64(size))
	if err != nil {
		f.discards.countBytes(org, rateLimited, int64(size))
	}
	return err
}

// whole returns a reader of the same bytes. When the org has a rate they are read to the end and charged at once, since a protocol that
// answers row by row must still be refused as a whole.
func (f *Front) whole(org tenant.ID, h *held, r io.Reader) (io.Reader, error) {
	if !f.rate.Limited(org) {
		return h.streamed(r), nil
	}
	data, err := f.bodies.readAll(r, h)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(data), f.admit(org, len(data))
}

// rated returns a reader of a JSON body that the org's rate lets pass, and whether it is one that must be whole: it is then charged at once
// and above the burst refused. Lines are charged while they are read. Without limits nobody asks what it is.
func (f *Front) rated(ctx context.Context, to signal.Stream, h *held, r io.Reader) (plain io.Reader, whole bool, err error) {
	rated := f.rate.Limited(to.Org)
	if !rated && !f.limits.Rows.Limited(ctx, databaseOf(to)) {
		return h.streamed(r), false, nil
	}
	r, whole = peekWhole(r)
	if !whole {
		return f.metered(to.Org, h.streamed(r)), false, nil
	}
	r = &capped{r: r, most: f.limits.MaxBodyBytes}
	if !rated {
		return h.all(r), true, nil
	}
	plain, err = f.whole(to.Org, h, r)
	return plain, true, err
}

// capped is a reader of a body that must be whole.
type capped struct {
	r    io.Reader
	most int64
	n    int64
}

// Read implements io.Reader.
func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > c.most {
		return 0, tooLarge(c.most)
	}
	return n, err
}

// metered returns a reader of a stream whose size is not known before its end. It reads a piece ahead, at most as much as a chunk of
// rows or the org's burst, and hands it out only once the org's rate has let it pass; so a body of one piece passes whole or not at
// all. Without a rate it is r.
func (f *Front) metered(org tenant.ID, r io.Reader) io.Reader {
	if !f.rate.Limited(org) {
		return r
	}
	return &meter{front: f, org: org, r: r, piece: f.rate.Piece(org, wire.MaxChunkBytes)}
}

type meter struct {
	front *Front
	org   tenant.ID
	r     io.Reader
	piece int64
	buf   []byte // its memory grows with the body
	next  int    // of buf
	err   error  // behind buf
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if m.next == len(m.buf) {
		if m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.buf[m.next:])
	m.next += n
	if n == 0 && len(p) > 0 {
		return 0, m.err
	}
	return n, nil
}

func (m *meter) fill() {
	m.buf, m.next = m.buf[:0], 0
	for int64(len(m.buf)) < m.piece && m.err == nil {
		if len(m.buf) == cap(m.buf) {
			m.buf = append(m.buf, 0)[:len(m.buf)] // grows by a factor
		}
		var n int
		n, m.err = m.r.Read(m.buf[len(m.buf):min(cap(m.buf), int(m.piece))])
		m.buf = m.buf[:len(m.buf)+n]
	}
	// What came before an error is decoded and may be stored, so it is charged as well.
	if err := m.front.admit(m.org, len(m.buf)); err != nil {
		m.buf, m.err = m.buf[:0], err
	}
}
