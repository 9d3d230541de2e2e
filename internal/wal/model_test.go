package wal_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

// fate is what the model knows of a record.
type fate int

const (
	pending fate = iota // enqueued
	kept                // Wait returned nil, or replayed by an earlier start
	open                // pending at a crash: may come back, and then stays
	refused             // its group failed: may come back, at any start while its segment lives
	gone                // released, or absent from a replay
)

// entry is a record of the model; its index in model.entries is in its payload.
type entry struct {
	key  wal.Key
	seq  uint64
	lsn  wal.LSN
	fate fate
}

// model drives a log and knows what it must hold.
type model struct {
	fs      *faultfs.FS
	log     *wal.Log
	epoch   int64
	entries []*entry
	next    map[wal.Key]uint64 // next sequence number
	covered map[wal.Key]uint64 // released
}

func newModel(t *rapid.T) *model {
	m := &model{fs: faultfs.New(), next: map[wal.Key]uint64{}, covered: map[wal.Key]uint64{}}
	m.start(t)
	return m
}

func (m *model) options() wal.Options {
	return wal.Options{
		Dir: "/data/wal", Node: "n1", Epoch: m.epoch, SegmentSize: 2048, GroupMaxBytes: 700, BatchMaxDelay: 100 * time.Microsecond,
		ReserveSize: 256, RetryInterval: 200 * time.Microsecond,
	}
}

func payload(id, size int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id)), make([]byte, size)...)
}

// start opens the log on m.fs and compares what it replays with the model.
func (m *model) start(t *rapid.T) {
	m.epoch++
	require.NoError(t, m.fs.MkdirAll("/data"))
	require.NoError(t, m.fs.SyncDir("/"))
	var last wal.LSN
	log, err := wal.Open(m.options(), wal.Deps{FS: m.fs, OnGroup: func(first, end wal.LSN, _ error) {
		if last != 0 && first != last+1 || end < first {
			panic(fmt.Sprintf("groups up to %d, then %d to %d", last, first, end))
		}
		last = end
	}})
	require.NoError(t, err)
	m.log = log
	seen := map[int]bool{}
	at := map[wal.Key]uint64{}
	report, err := log.Replay(context.Background(), func(r wal.Record) error {
		id := int(binary.BigEndian.Uint32(r.Payload))
		require.False(t, seen[id], "record %d comes twice", id)
		seen[id] = true
		require.Equal(t, m.entries[id].key, r.Key)
		require.Equal(t, m.entries[id].seq, r.Seq)
		require.Greater(t, r.Seq, at[r.Key], "order of %s", r.Key)
		at[r.Key] = r.Seq
		return nil
	}, nil)
	require.NoError(t, err)
	if !m.anyRefused() { // bytes of a failed sync may be seen by one start and missed by the next
		require.Empty(t, report.Missing)
		require.Empty(t, report.Refused)
	}
	for id, e := range m.entries {
		switch {
		case e.fate == kept && e.seq > m.covered[e.key]:
			require.True(t, seen[id], "record %d (%s seq %d lsn %d) is lost", id, e.key, e.seq, e.lsn)
		case e.fate == refused:
		case seen[id]:
			e.fate = kept
		default:
			e.fate = gone
		}
	}
}

func (m *model) anyRefused() bool {
	return slices.ContainsFunc(m.entries, func(e *entry) bool { return e.fate == refused })
}

// stop closes the log and forgets what was pending.
func (m *model) stop(t *rapid.T) {
	require.NoError(t, m.log.Close())
	for _, e := range m.entries {
		if e.fate == pending {
			e.fate = open
			if m.log.Failed(e.lsn) {
				e.fate = refused
			}
		}
	}
}

func (m *model) key(t *rapid.T) wal.Key {
	return wal.Key{Dataset: int64(rapid.IntRange(1, 3).Draw(t, "dataset")), Node: "n1", Epoch: m.epoch}
}

func (m *model) anyKey(t *rapid.T) wal.Key {
	k := m.key(t)
	k.Epoch -= int64(rapid.IntRange(0, 2).Draw(t, "back"))
	return k
}

func (m *model) enqueue(t *rapid.T) {
	key := m.key(t)
	for range rapid.IntRange(1, 6).Draw(t, "records") {
		e := &entry{key: key, seq: m.next[key] + 1}
		lsn, err := m.log.Enqueue(wal.Record{Key: key, Seq: e.seq, Payload: payload(len(m.entries), rapid.IntRange(0, 900).Draw(t, "size"))})
		if errors.Is(err, wal.ErrFull) || errors.Is(err, wal.ErrWrite) {
			m.settle(t) // numbers of refused records are given again
			return
		}
		if err != nil { // the failure of a group was told between two calls: start over from what is kept
			m.settle(t)
			continue
		}
		e.lsn = lsn
		m.entries = append(m.entries, e)
		m.next[key] = e.seq
	}
}

// settle waits for everything and lets the numbers of refused records be given again.
func (m *model) settle(t *rapid.T) {
	for _, e := range m.entries {
		if e.fate != pending {
			continue
		}
		if err := m.log.Wait(context.Background(), e.lsn); err != nil {
			e.fate = refused
			require.True(t, m.log.Failed(e.lsn))
			continue
		}
		e.fate = kept
		require.False(t, m.log.Failed(e.lsn))
		require.LessOrEqual(t, e.lsn, m.log.Durable())
	}
	for key := range m.next {
		if key.Epoch == m.epoch {
			m.next[key] = m.covered[key]
		}
	}
	for _, e := range m.entries {
		if e.fate == kept {
			m.next[e.key] = max(m.next[e.key], e.seq)
		}
	}
}

func (m *model) release(t *rapid.T) {
	m.settle(t)
	key := m.anyKey(t)
	var seqs []uint64
	for _, e := range m.entries {
		if e.key == key && e.fate == kept {
			seqs = append(seqs, e.seq)
		}
	}
	if len(seqs) == 0 {
		return
	}
	upTo := rapid.SampledFrom(seqs).Draw(t, "upTo")
	m.covered[key] = max(m.covered[key], upTo)
	m.log.Release(key, upTo)
}

func (m *model) moveAside(t *rapid.T) {
	_ = m.log.MoveAside(context.Background(), m.anyKey(t)) // faults may stop it; what counts is what replays
}

func (m *model) inject(t *rapid.T) {
	ops := []faultfs.Op{
		faultfs.OpWrite, faultfs.OpSync, faultfs.OpTruncate, faultfs.OpSyncDir, faultfs.OpRemove, faultfs.OpCreate, faultfs.OpRename,
	}
	m.fs.Inject(faultfs.Fault{
		Op:    rapid.SampledFrom(ops).Draw(t, "op"),
		After: rapid.IntRange(0, 3).Draw(t, "after"), Times: rapid.IntRange(1, 3).Draw(t, "times"),
		Err:   rapid.SampledFrom([]error{syscall.ENOSPC, syscall.EIO}).Draw(t, "err"),
		Short: rapid.IntRange(0, 800).Draw(t, "short"),
	})
}

// refuse fails the sync of a group and, often, the attempt to cut it off again.
func (m *model) refuse(t *rapid.T) {
	m.settle(t)
	m.fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Glob: "*.wal", Times: 1, Err: syscall.EIO})
	if rapid.IntRange(0, 3).Draw(t, "cut") > 0 {
		m.fs.Inject(faultfs.Fault{Op: faultfs.OpTruncate, Times: 1, Err: syscall.EIO})
	}
	m.enqueue(t)
	m.settle(t)
	m.fs.Heal()
}

func (m *model) restart(t *rapid.T, next func() *faultfs.FS) {
	fs := next()
	m.stop(t)
	m.fs.Heal()
	if fs != nil {
		m.fs = fs
	}
	m.start(t)
}

// TestModel runs random operations, faults and crashes: every record whose Wait returned nil and that is not released is replayed
// exactly once, in order; the others at most once.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		defer func() { _ = m.log.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"enqueue":  m.enqueue,
			"enqueue2": m.enqueue,
			"settle":   m.settle,
			"release":  m.release,
			"aside":    m.moveAside,
			"fault":    m.inject,
			"refuse":   m.refuse,
			"heal":     func(*rapid.T) { m.fs.Heal() },
			"crash": func(t *rapid.T) {
				seed := rapid.Uint64().Draw(t, "seed")
				m.restart(t, func() *faultfs.FS { return m.fs.Crash(seed) })
			},
			"kill":  func(t *rapid.T) { m.restart(t, m.fs.Clone) },
			"close": func(t *rapid.T) { m.restart(t, func() *faultfs.FS { return nil }) },
		})
	})
}
