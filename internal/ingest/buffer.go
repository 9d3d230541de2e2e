package ingest

import (
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wal"
)

// entry is one logged batch in a buffer.
type entry struct {
	seq      uint64
	lsn      wal.LSN // 0 for a replayed one: it is durable
	record   arrow.RecordBatch
	bytes    int64
	min, max int64 // event time in microseconds, both inclusive
}

// columnOverhead is about what Arrow's headers of one column take.
const columnOverhead = 400

func newEntry(r arrow.RecordBatch) entry {
	e := entry{record: r}
	for _, col := range r.Columns() {
		e.bytes += columnOverhead
		for _, buf := range col.Data().Buffers() {
			if buf != nil {
				e.bytes += int64(buf.Len())
			}
		}
	}
	e.min, e.max = signal.TimeRange(r)
	return e
}

// buffer holds the rows of one dataset and writer epoch that no segment has yet.
type buffer struct {
	key     wal.Key
	dataset catalog.Stream // any stream of the dataset: org, database and signal are the same in all; for logs and traces the one

	// flushing serialises flushes of the buffer.
	flushing sync.Mutex

	mu struct {
		sync.Mutex
		entries   []entry
		bytes     int64
		rows      int64
		last      uint64    // the greatest sequence given
		committed uint64    // the greatest sequence that the catalog has
		oldest    time.Time // when the first of entries came
		fenced    bool
	}
}

// append adds an entry. The caller holds b.mu.
func (b *buffer) append(e entry, now time.Time) {
	if len(b.mu.entries) == 0 {
		b.mu.oldest = now
	}
	b.mu.entries = append(b.mu.entries, e)
	b.mu.bytes += e.bytes
	b.mu.rows += e.record.NumRows()
}

// take returns a durable prefix of at most maxBytes (but one entry at least), without removing it, and the sequence that the
// catalog has. The caller releases nothing: the entries stay the buffer's until drop, and only a flush drops them.
func (b *buffer) take(durable wal.LSN, maxBytes int64) (prefix []entry, from uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var bytes int64
	for i, e := range b.mu.entries {
		if e.lsn > durable || (i > 0 && bytes+e.bytes > maxBytes) {
			break
		}
		bytes += e.bytes
		prefix = b.mu.entries[: i+1 : i+1]
	}
	return prefix, b.mu.committed
}

// drop removes entries up to and including seq and returns their bytes.
func (b *buffer) drop(seq uint64, now time.Time) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.mu.entries) && b.mu.entries[n].seq <= seq {
		n++
	}
	freed := b.removeLocked(0, n)
	b.mu.committed = max(b.mu.committed, seq)
	b.mu.last = max(b.mu.last, seq)
	b.mu.oldest = now
	return freed
}

// fail removes the entries of the log positions first to last inclusive and returns their bytes.
func (b *buffer) fail(first, last wal.LSN) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := len(b.mu.entries)
	for i > 0 && b.mu.entries[i-1].lsn >= first {
		i--
	}
	j := i
	for j < len(b.mu.entries) && b.mu.entries[j].lsn <= last {
		j++
	}
	return b.removeLocked(i, j)
}

// removeLocked removes entries[i:j]. The slice is made anew, since a flush may hold a prefix of the old one.
func (b *buffer) removeLocked(i, j int) int64 {
	var freed int64
	for _, e := range b.mu.entries[i:j] {
		freed += e.bytes
		b.mu.rows -= e.record.NumRows()
		e.record.Release()
	}
	rest := make([]entry, 0, len(b.mu.entries)-(j-i))
	rest = append(rest, b.mu.entries[:i]...)
	b.mu.entries = append(rest, b.mu.entries[j:]...)
	b.mu.bytes -= freed
	return freed
}

// fence drops all entries, refuses writes from now on, and returns the bytes freed.
func (b *buffer) fence() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.fenced = true
	return b.removeLocked(0, len(b.mu.entries))
}

// visible returns the durable entries that overlap [start, end), each with a reference that the caller releases.
func (b *buffer) visible(durable func() wal.LSN, start, end int64) []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	upTo := durable()
	var out []entry
	for _, e := range b.mu.entries {
		if e.lsn > upTo {
			break
		}
		if e.min < end && e.max >= start {
			e.record.Retain()
			out = append(out, e)
		}
	}
	return out
}

// state is a summary for flush decisions and status.
type state struct {
	bytes  int64
	rows   int64
	oldest time.Time
	fenced bool
	empty  bool
}

func (b *buffer) state() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	return state{bytes: b.mu.bytes, rows: b.mu.rows, oldest: b.mu.oldest, fenced: b.mu.fenced, empty: len(b.mu.entries) == 0}
}

// remove takes one entry out and returns its bytes.
func (b *buffer) remove(seq uint64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, e := range b.mu.entries {
		if e.seq == seq {
			return b.removeLocked(i, i+1)
		}
	}
	return 0
}
