package ingest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cespare/xxhash/v2"

	"github.com/millstream/millstream/internal/signal"
)

const (
	// disorderWindow is how far a sample may lie before the newest one of its series (decisions B8).
	disorderWindow = time.Hour
	// maxTracked bounds the series whose newest sample is remembered, about 50 bytes each. Of one that is forgotten any sample is taken.
	maxTracked = 4_000_000
	// maxBatches is how many batches are remembered as a whole, so that one which is sent again is stored once.
	maxBatches = 4096
	// The primes that the hash of a batch is made with.
	primeRow, primeTime, primeBits = 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9
)

// samples remembers the newest durable sample of every series that senders of ordered samples write, since the start of the process. What
// it does not know it lets pass: readers remove duplicates too.
type samples struct {
	limit int // series of a generation
	mu    struct {
		sync.Mutex
		young, old map[uint64]sample // two generations, so that forgetting costs no search
		batches    map[uint64]bool   // hashes of the last maxBatches durable ones
		ring       []uint64          // of them, in order
		next       int               // of ring
	}
}

// noValueBits stands for signal.FlagNoValue: the bits of Prometheus' staleness marker, which no other value has.
const noValueBits = 0x7ff0000000000002

// sample is a time and what stands there: the bits of a float, or the hash of a histogram.
type sample struct {
	micros int64
	bits   uint64
}

func newSamples(limit int) *samples {
	s := &samples{limit: limit / 2}
	s.mu.young, s.mu.batches = make(map[uint64]sample), make(map[uint64]bool)
	s.mu.ring = make([]uint64, maxBatches)
	return s
}

func (s *samples) newest(series uint64) (sample, bool) {
	x, ok := s.mu.young[series]
	if !ok {
		x, ok = s.mu.old[series]
	}
	return x, ok
}

// note remembers what is durable now.
func (s *samples) note(j *judgement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.batches[j.hash] {
		delete(s.mu.batches, s.mu.ring[s.mu.next])
		s.mu.ring[s.mu.next], s.mu.batches[j.hash] = j.hash, true
		s.mu.next = (s.mu.next + 1) % len(s.mu.ring)
	}
	for series, x := range j.seen {
		if last, ok := s.newest(series); ok && last.micros >= x.micros {
			continue
		}
		if len(s.mu.young) >= s.limit {
			s.mu.old, s.mu.young = s.mu.young, make(map[uint64]sample, s.limit/2)
		}
		s.mu.young[series] = x
	}
}

// judgement is what is to become of the rows of a batch.
type judgement struct {
	keep    []bool // nil when all stay
	seen    map[uint64]sample
	hash    uint64 // of all samples
	refused signal.RefusedSamples
}

// judge compares a batch with what is remembered and with itself. Equal samples that are there already are dropped without a word. The
// order within a batch is the sender's business: the floats of a series may stand before its histograms.
func (s *samples) judge(b *signal.Batch) *judgement {
	r := b.Record
	j := &judgement{seen: make(map[uint64]sample, r.NumRows())}
	rows := sampleRows(r)
	rows.place = string(b.Stream.Org) + "/" + b.Stream.Database
	if rows.metrics == nil || rows.labels == nil {
		return j
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for row := range int(r.NumRows()) {
		x, ok := rows.at(row)
		if !ok {
			continue
		}
		series := rows.series(row)
		j.hash = (j.hash ^ series ^ uint64(x.micros)*primeTime ^ x.bits*primeBits) * primeRow
		durable, isDurable := s.newest(series)
		last, known := j.seen[series]
		if !known {
			last, known = durable, isDurable
		}
		switch {
		case !known || x.micros > last.micros:
			j.seen[series] = x
		case x == last:
			j.drop(row, int(r.NumRows()))
		case x.micros == last.micros:
			j.drop(row, int(r.NumRows()))
			j.refused.Join(&signal.RefusedSamples{Duplicate: 1, FirstDuplicate: rows.describe(row, "another value stands at that time already")})
		case isDurable && !b.Backfill && x.micros < durable.micros-disorderWindow.Microseconds():
			j.drop(row, int(r.NumRows()))
			j.refused.Join(&signal.RefusedSamples{TooOld: 1, FirstTooOld: rows.describe(row,
				fmt.Sprintf("the newest sample is of %s, samples up to %s before it are taken", stamp(durable.micros), disorderWindow))})
		}
	}
	if s.mu.batches[j.hash] { // sent again as a whole: what lies in the window is there too
		for row := range int(r.NumRows()) {
			j.drop(row, int(r.NumRows()))
		}
	}
	return j
}

func (j *judgement) drop(row, rows int) {
	if j.keep == nil {
		j.keep = make([]bool, rows)
		for i := range j.keep {
			j.keep[i] = true
		}
	}
	j.keep[row] = false
}

// rows returns the record without what is dropped, nil when nothing is left. The caller releases it.
func (j *judgement) rows(ctx context.Context, r arrow.RecordBatch) (arrow.RecordBatch, error) {
	if j.keep == nil {
		r.Retain()
		return r, nil
	}
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(j.keep, nil)
	mask := b.NewArray()
	defer mask.Release()
	out, err := compute.FilterRecordBatch(ctx, r, mask, compute.DefaultFilterOptions())
	if err != nil {
		return nil, fmt.Errorf("leave samples out: %w", err)
	}
	if out.NumRows() == 0 {
		out.Release()
		return nil, nil
	}
	return out, nil
}

// orderedRows reads the samples of a record.
type orderedRows struct {
	times           []arrow.Timestamp
	metrics, labels *array.String
	values          *array.Float64
	histograms      *array.String
	flags           *array.Int64

	place                  string // the database, which the hash covers
	lastMetric, lastLabels string // of the hash
	hash                   uint64
	digest                 xxhash.Digest
}

func sampleRows(r arrow.RecordBatch) *orderedRows {
	out := &orderedRows{
		times: signal.Times(r), metrics: textColumn(r, signal.MetricColumn), labels: textColumn(r, signal.LabelsColumn),
		histograms: textColumn(r, signal.HistogramColumn),
	}
	for _, i := range r.Schema().FieldIndices(signal.ValueColumn) {
		if c, ok := r.Column(i).(*array.Float64); ok {
			out.values = c
		}
	}
	for _, i := range r.Schema().FieldIndices(signal.FlagsColumn) {
		if c, ok := r.Column(i).(*array.Int64); ok {
			out.flags = c
		}
	}
	return out
}

// at returns the sample of a row. It is not ok for rows that carry none, such as metadata.
func (o *orderedRows) at(row int) (sample, bool) {
	x := sample{micros: int64(o.times[row])}
	switch {
	case o.values != nil && o.values.IsValid(row):
		x.bits = math.Float64bits(o.values.Value(row))
	case o.histograms != nil && o.histograms.IsValid(row):
		x.bits = xxhash.Sum64String(o.histograms.Value(row))
	case o.flags != nil && o.flags.IsValid(row) && o.flags.Value(row)&signal.FlagNoValue != 0:
		x.bits = noValueBits
	default:
		return x, false
	}
	return x, true
}

// series returns the hash of the row's series. Rows of one series mostly follow each other.
func (o *orderedRows) series(row int) uint64 {
	metric, labels := o.metrics.Value(row), o.labels.Value(row)
	if row > 0 && metric == o.lastMetric && labels == o.lastLabels {
		return o.hash
	}
	o.lastMetric, o.lastLabels = metric, labels
	o.digest.Reset()
	_, _ = o.digest.WriteString(o.place)
	_, _ = o.digest.Write([]byte{0xff})
	_, _ = o.digest.WriteString(metric)
	_, _ = o.digest.Write([]byte{0xff})
	_, _ = o.digest.WriteString(labels)
	o.hash = o.digest.Sum64()
	return o.hash
}

func (o *orderedRows) describe(row int, why string) string {
	return fmt.Sprintf("series %.64s%.200s at %s: %s", o.metrics.Value(row), o.labels.Value(row), stamp(int64(o.times[row])), why)
}

func stamp(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) }
