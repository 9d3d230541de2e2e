package ingress

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
)

// held is the memory that one request's body takes, counted against its org's share of what all bodies may take.
type held struct {
	front *Front
	org   tenant.ID
	bytes int64
}

// hold returns a held of nothing. The caller releases it.
func (f *Front) hold(org tenant.ID) *held { return &held{front: f, org: org} }

// take holds n bytes more. It fails with fault.Unavailable when the org's share does not have them.
func (h *held) take(n int64) error {
	shares := h.front.inFlight
	if shares.Try(h.org, n) {
		h.bytes += n
		return nil
	}
	h.front.discards.countBytes(h.org, limits.InFlightBytesLimited, h.bytes+n)
	return fault.New(fault.Unavailable, "requests of org %s that are being read hold %d bytes, its share of what all may hold "+
		"(intake.inflight_memory_max is %d): send fewer at once", h.org, shares.Of(h.org), shares.Max()).After(time.Second)
}

// Room fails with fault.Unavailable when the org's bodies hold all that they may: then nothing more of it is to be read.
func (f *Front) Room(org tenant.ID) error {
	h := f.hold(org)
	defer h.release()
	return h.take(1)
}

func (h *held) release() {
	h.front.inFlight.Release(h.org, h.bytes)
	h.bytes = 0
}

// packed returns a reader of a body before it is inflated, whose bytes are held too: a snappy block is read whole before it is unpacked.
func (h *held) packed(r io.Reader, encoding string) io.Reader {
	if encoding == "" || encoding == "identity" {
		return r
	}
	return h.all(r)
}

// all returns a reader of a body whose bytes are held as they are read.
func (h *held) all(r io.Reader) io.Reader { return &streamed{held: h, r: r, most: math.MaxInt64} }

// streamed returns a reader of the same bytes for a body of any size that is decoded while it is read. It holds what a request of that kind
// has in memory at most: a chunk being written and one being decoded.
func (h *held) streamed(r io.Reader) io.Reader {
	return &streamed{held: h, r: r, most: h.bytes + 2*wire.MaxChunkBytes}
}

type streamed struct {
	held *held
	r    io.Reader
	most int64 // bytes that are held at most
}

// Read implements io.Reader.
func (s *streamed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if more := min(int64(n), s.most-s.held.bytes); more > 0 && (err == nil || errors.Is(err, io.EOF)) {
		if refusal := s.held.take(more); refusal != nil {
			return 0, refusal
		}
	}
	return n, err
}

// InFlight returns the bytes that bodies of the org take now.
func (f *Front) InFlight(org tenant.ID) int64 { return f.inFlight.Of(org) }
