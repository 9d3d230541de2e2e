package router

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"github.com/millstream/millstream/internal/signal"
)

// ids numbers the batches of this process.
type ids struct {
	origin uint64
	last   *atomic.Uint64
}

func newIDs() ids {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return ids{origin: binary.BigEndian.Uint64(b[:]) | 1, last: new(atomic.Uint64)}
}

func (i ids) next() signal.BatchID { return signal.BatchID{Origin: i.origin, Number: i.last.Add(1)} }
