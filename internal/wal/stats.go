package wal

import (
	"slices"
	"time"
)

// maxBlocking bounds Stats.Blocking.
const maxBlocking = 64

// Stats describe a log at one moment.
type Stats struct {
	SizeBytes      int64 // of all segment files, those aside included
	AsideBytes     int64 // of those aside
	Segments       int   // files of the log proper
	AsideSegments  int
	PendingBytes   int64 // in groups that are not on disk
	PendingRecords int
	Durable        LSN
	Full           bool     // refusing because the disk is full
	Sync           SyncMode // SyncNone voids durability
	// Groups, Records and Bytes were written since Open.
	Groups, Records, Bytes uint64
	// Blocking are the keys whose oldest unreleased record in the log proper is the oldest, oldest first, at most 64.
	Blocking []KeyStats
}

// KeyStats say how a key keeps segments from being deleted.
type KeyStats struct {
	Key
	// Since is when its oldest unreleased record was written, at most a second too early; for records of an earlier process, when
	// their segment was made.
	Since time.Time
	Age   time.Duration
	// Bytes are those the log holds from that record on, of all keys.
	Bytes int64
}

// Stats returns the log's state. It walks all keys with unreleased records.
func (l *Log) Stats() Stats {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	st := Stats{
		Segments: len(l.mu.segments), AsideSegments: len(l.mu.asides), Durable: l.Durable(), Full: l.mu.full, Sync: l.opts.Sync,
		Groups: l.mu.totals.groups, Records: l.mu.totals.records, Bytes: l.mu.totals.bytes,
	}
	for _, g := range l.mu.groups {
		st.PendingBytes += int64(len(g.buf))
		st.PendingRecords += len(g.entries)
	}
	for _, s := range l.mu.asides {
		st.AsideBytes += s.size
	}
	oldest := map[Key]KeyStats{}
	var behind int64 // bytes of newer segments
	for _, s := range slices.Backward(l.mu.segments) {
		for key, sp := range s.spans {
			m := sp.marks[0]
			oldest[key] = KeyStats{Key: key, Since: m.at, Age: now.Sub(m.at), Bytes: behind + s.size - m.offset}
		}
		behind += s.size
	}
	st.SizeBytes = behind + st.AsideBytes
	for _, k := range oldest {
		st.Blocking = append(st.Blocking, k)
	}
	slices.SortFunc(st.Blocking, func(a, b KeyStats) int { return a.Since.Compare(b.Since) })
	st.Blocking = st.Blocking[:min(len(st.Blocking), maxBlocking)]
	return st
}

// updateGauges sets the metrics of size. Callers hold mu.
func (l *Log) updateGauges() {
	var size int64
	for _, s := range l.mu.segments {
		size += s.size
	}
	for _, s := range l.mu.asides {
		size += s.size
	}
	l.metrics.size.Set(float64(size))
	l.metrics.segments.Set(float64(len(l.mu.segments) + len(l.mu.asides)))
}
