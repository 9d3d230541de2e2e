package wal

import (
	"context"
	"fmt"
	"hash/crc32"
	"sort"
	"sync/atomic"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// group is a run of records that is written and synced as one. Fields but done and err are guarded by Log.mu until the committer has
// taken the group; err is set before done is closed.
type group struct {
	first, last LSN
	since       time.Time // when the first record came
	buf         []byte    // encoded records
	entries     []groupEntry
	closed      bool // takes no more records
	done        chan struct{}
	err         error
}

// groupEntry is a record in a group.
type groupEntry struct {
	key    Key
	seq    uint64
	offset int // in buf
}

// Reservation is room for one record in the pending bytes. It is made outside the caller's locks, so that Enqueue does not have to
// wait inside them.
type Reservation struct {
	log  *Log
	size int64
	used atomic.Bool
}

// Reserve waits until a record of key with n payload bytes fits into Options.MaxPendingBytes and sets the room aside, first come,
// first served. It returns ctx's error, or ErrTooLarge. The caller must call Release of the reservation in the end.
func (l *Log) Reserve(ctx context.Context, key Key, n int) (*Reservation, error) {
	size := int64(recordHeaderLen + len(key.Node) + n)
	if size > l.opts.MaxPendingBytes {
		return nil, ErrTooLarge
	}
	if err := l.room.Acquire(ctx, size); err != nil {
		return nil, fmt.Errorf("wait for room in the write-ahead log: %w", err)
	}
	return &Reservation{log: l, size: size}, nil
}

// Enqueue is Log.Enqueue within the reserved room, so it never returns ErrBusy. Success uses the reservation up. A record larger than
// reserved, or a second record, is refused with fault.Internal.
func (r *Reservation) Enqueue(rec Record) (LSN, error) {
	size := recordSize(rec)
	if size > r.size {
		return 0, fault.New(fault.Internal, "record of %d bytes in a reservation of %d", size, r.size)
	}
	if !r.used.CompareAndSwap(false, true) {
		return 0, fault.New(fault.Internal, "log reservation is used up")
	}
	lsn, err := r.log.enqueue(rec)
	if err != nil {
		r.used.Store(false)
		return 0, err
	}
	r.log.room.Release(r.size - size)
	return lsn, nil
}

// Release gives the room back if Enqueue has not used it. It may be called more than once, also after Enqueue.
func (r *Reservation) Release() {
	if r.used.CompareAndSwap(false, true) {
		r.log.room.Release(r.size)
	}
}

// Enqueue copies r into the group that is written next and returns its place in the log. It never waits: without room it returns
// ErrBusy (see Reserve). Other errors: ErrFull, ErrWrite while a failure is being told to OnGroup, ErrClosed, ErrNotReplayed, ErrTooLarge,
// and fault.Internal if r.Seq does not ascend for its key or the key is malformed. After an error nothing of r is in the log.
func (l *Log) Enqueue(r Record) (LSN, error) {
	size := recordSize(r)
	if size > l.opts.MaxPendingBytes {
		return 0, ErrTooLarge
	}
	if !l.room.TryAcquire(size) {
		return 0, ErrBusy
	}
	lsn, err := l.enqueue(r)
	if err != nil {
		l.room.Release(size)
	}
	return lsn, err
}

// enqueue appends r to the open group. The room for it is taken already and is given back when its group is settled.
func (l *Log) enqueue(r Record) (LSN, error) {
	if len(r.Node) == 0 || len(r.Node) > maxNodeLen {
		return 0, fault.New(fault.Internal, "key %s of a log record: the node id must have 1 to %d bytes", r.Key, maxNodeLen)
	}
	crc := crc32.Checksum(r.Payload, castagnoli())
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refusal(); err != nil {
		return 0, err
	}
	ks := l.mu.keys[r.Key]
	if ks == nil {
		ks = &keyState{}
		l.mu.keys[r.Key] = ks
	} else if r.Seq <= ks.enqueued {
		return 0, fault.New(fault.Internal, "sequence %d of log key %s comes after %d", r.Seq, r.Key, ks.enqueued)
	}
	ks.enqueued = r.Seq
	ks.pending++
	g := l.openGroup()
	g.last = l.mu.nextLSN
	l.mu.nextLSN++
	g.entries = append(g.entries, groupEntry{key: r.Key, seq: r.Seq, offset: len(g.buf)})
	g.buf = appendRecord(g.buf, 0, g.last, r, crc)
	g.closed = l.opts.Sync == SyncEveryWrite || len(g.buf) >= l.opts.GroupMaxBytes
	if len(g.entries) == 1 || g.closed {
		l.wake()
	}
	return g.last, nil
}

// refusal returns why nothing is accepted now, or nil. Callers hold mu.
func (l *Log) refusal() error {
	switch {
	case l.mu.closed:
		return ErrClosed
	case !l.mu.ready:
		return ErrNotReplayed
	case l.mu.full:
		return ErrFull
	case l.mu.failing:
		return ErrWrite
	default:
		return nil
	}
}

// openGroup returns the group that takes records. Callers hold mu.
func (l *Log) openGroup() *group {
	if n := len(l.mu.groups); n > 0 && !l.mu.groups[n-1].closed {
		return l.mu.groups[n-1]
	}
	g := &group{first: l.mu.nextLSN, since: l.clock.Now(), buf: l.mu.spare, done: make(chan struct{})}
	l.mu.spare = nil
	l.mu.groups = append(l.mu.groups, g)
	return g
}

// Wait returns nil once lsn is durable. It returns the failure of its group, which matches ErrFull or ErrWrite, or ctx's error, after
// which the record may still become durable.
func (l *Log) Wait(ctx context.Context, lsn LSN) error {
	l.mu.Lock()
	if lsn == 0 || lsn >= l.mu.nextLSN {
		l.mu.Unlock()
		return fault.New(fault.Internal, "wait for log position %d, which was not given out", lsn)
	}
	g := l.groupOf(lsn)
	if g == nil {
		defer l.mu.Unlock()
		return l.failureOf(lsn)
	}
	l.mu.Unlock()
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the write-ahead log: %w", ctx.Err())
	}
}

// groupOf returns the unsettled group that holds lsn, or nil. Callers hold mu.
func (l *Log) groupOf(lsn LSN) *group {
	i := sort.Search(len(l.mu.groups), func(i int) bool { return l.mu.groups[i].last >= lsn })
	if i == len(l.mu.groups) || l.mu.groups[i].first > lsn {
		return nil
	}
	return l.mu.groups[i]
}
