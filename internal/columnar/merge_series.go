package columnar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// seriesMerger merges files of metrics, which are sorted by series and time: series by series, so that memory is a row group of each
// source, the rows of one series, and a row group of the result.
//
// Of several samples of a series at one time the last one of the greatest version stays (decisions B8). The version of a row is the
// number of the segment that it was flushed to; a merged file keeps it in signal.VersionColumn.
type seriesMerger struct {
	merger
	version *field // of the result
	sources []*seriesInput
	pending []rowRef
	dropped int64
	added   map[*seriesInput]int // where the input's record stands in the part
}

// seriesInput is a source with the row group that was read last.
type seriesInput struct {
	segment catalog.SegmentID
	reader  *Reader
	record  arrow.RecordBatch // nil before the first and after the last row group
	rows    *metricRows
	next    int // first row that is not taken
	ended   bool
}

// metricRows are the columns of a record that a merge looks at; nil where it lacks one.
type metricRows struct {
	metric, labels, histogram *array.String
	value                     *array.Float64
	version, flags            *array.Int64
}

// seriesName is what series are ordered by.
type seriesName struct{ metric, labels string }

func (a seriesName) compare(b seriesName) int {
	return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.labels, b.labels))
}

func mergeSeries(ctx context.Context, path string, sources []Source, opts WriteOptions) (Info, error) {
	fields, nanos, err := mergedFields(sources)
	if err != nil {
		return Info{}, err
	}
	m := &seriesMerger{merger: merger{fields: fields}, added: make(map[*seriesInput]int)}
	defer m.close()
	m.useVersions()
	for _, s := range sources {
		r, err := OpenReader(s.Path, columnKey)
		if err != nil {
			return Info{}, err
		}
		m.sources = append(m.sources, &seriesInput{segment: s.Segment, reader: r})
	}
	return createFile(path, func(f io.Writer) (Info, error) {
		w, err := newFileWriter(f, m.fields, nanos, opts)
		if err != nil {
			return Info{}, err
		}
		if err := m.run(ctx, w); err != nil {
			return Info{}, err
		}
		info, err := w.finish()
		info.Duplicates = m.dropped
		return info, err
	})
}

// useVersions makes the column of versions one of the result's.
func (m *seriesMerger) useVersions() {
	column, _ := MetricColumn(signal.VersionColumn)
	name, _ := columnKey(column.ID)
	for _, f := range m.fields {
		if f.name == name {
			m.version = f
			return
		}
	}
	m.version = &field{name: name, typ: signal.Int64, phys: signal.VersionColumn, exact: true, column: column}
	m.fields = append(m.fields, m.version)
}

func (m *seriesMerger) close() {
	for _, in := range m.sources {
		in.release()
		_ = in.reader.Close() // read only
	}
	releaseAll(m.part.Records)
}

func (in *seriesInput) release() {
	if in.record != nil {
		in.record.Release()
		in.record, in.rows = nil, nil
	}
}

// run takes one series after the other from all sources.
func (m *seriesMerger) run(ctx context.Context, w *fileWriter) error {
	for {
		least, ok, err := m.least(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return m.write(ctx, w, true)
		}
		first := len(m.pending)
		for _, in := range m.sources {
			if err := m.take(ctx, in, least); err != nil {
				return err
			}
		}
		m.settle(first)
		if len(m.pending) >= w.opts.RowGroupRows {
			if err := m.write(ctx, w, false); err != nil {
				return err
			}
		}
	}
}

// least returns the first series that any source has next. It is not ok when all have ended.
func (m *seriesMerger) least(ctx context.Context) (least seriesName, ok bool, err error) {
	for _, in := range m.sources {
		if err := m.fill(ctx, in); err != nil {
			return least, false, err
		}
		if in.ended {
			continue
		}
		if s := in.rows.series(in.next); !ok || s.compare(least) < 0 {
			least, ok = s, true
		}
	}
	return least, ok, nil
}

// fill reads the next row group of a source whose last one is used up.
func (m *seriesMerger) fill(ctx context.Context, in *seriesInput) (err error) {
	for !in.ended && (in.record == nil || in.next == int(in.record.NumRows())) {
		in.release()
		delete(m.added, in)
		in.next = 0
		in.record, err = in.reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			in.record, in.ended = nil, true
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a source: %w", err)
		}
		if in.rows, err = metricRowsOf(in.record); err != nil {
			return err
		}
	}
	return nil
}

// metricRowsOf finds the columns of a record whose columns are named by their ids.
func metricRowsOf(r arrow.RecordBatch) (*metricRows, error) {
	out := &metricRows{}
	s := r.Schema()
	for i := signal.FirstField(s); i < s.NumFields(); i++ {
		switch c := r.Column(i).(type) {
		case *array.String:
			switch s.Field(i).Name {
			case metricKey(signal.MetricColumn):
				out.metric = c
			case metricKey(signal.LabelsColumn):
				out.labels = c
			case metricKey(signal.HistogramColumn):
				out.histogram = c
			}
		case *array.Float64:
			if s.Field(i).Name == metricKey(signal.ValueColumn) {
				out.value = c
			}
		case *array.Int64:
			switch s.Field(i).Name {
			case metricKey(signal.VersionColumn):
				out.version = c
			case metricKey(signal.FlagsColumn):
				out.flags = c
			}
		}
	}
	if out.metric == nil || out.labels == nil {
		return nil, fault.New(fault.Corrupt, "a metrics file without %s or %s", signal.MetricColumn, signal.LabelsColumn)
	}
	return out, nil
}

func metricKey(name string) string {
	c, _ := MetricColumn(name)
	key, _ := columnKey(c.ID)
	return key
}

func (r *metricRows) series(row int) seriesName {
	return seriesName{r.metric.Value(row), r.labels.Value(row)}
}

// holdsSample reports whether a row is a sample; others, such as metadata, have no duplicates.
func (r *metricRows) holdsSample(row int) bool {
	return r.value != nil && r.value.IsValid(row) || r.histogram != nil && r.histogram.IsValid(row) ||
		r.flags != nil && r.flags.IsValid(row)
}

// take moves the rows of a series from a source to the pending ones. They may go on in the next row groups.
func (m *seriesMerger) take(ctx context.Context, in *seriesInput, s seriesName) error {
	for !in.ended && in.rows.series(in.next) == s {
		record, ok := m.added[in]
		if !ok {
			if len(m.part.Records) == maxRecords {
				return fault.New(fault.Internal, "a series of more than %d row groups", maxRecords)
			}
			record = len(m.part.Records)
			m.added[in] = record
			in.record.Retain()
			m.part.Records = append(m.part.Records, in.record)
			m.version.arrays = append(m.version.arrays, in.versions())
		}
		times, nanos := signal.Times(in.record), signal.Nanos(in.record)
		for ; in.next < int(in.record.NumRows()) && in.rows.series(in.next) == s; in.next++ {
			ref := rowRef{time: int64(times[in.next]), record: int16(record), row: int32(in.next)}
			if nanos != nil {
				ref.nanos = nanos[in.next]
			}
			m.pending = append(m.pending, ref)
		}
		if err := m.fill(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// versions returns the version of each row of the input's record.
func (in *seriesInput) versions() *array.Int64 {
	if in.rows.version != nil && in.rows.version.NullN() == 0 {
		in.rows.version.Retain()
		return in.rows.version
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for row := range int(in.record.NumRows()) {
		v := int64(in.segment)
		if in.rows.version != nil && in.rows.version.IsValid(row) {
			v = in.rows.version.Value(row)
		}
		b.Append(v)
	}
	return b.NewInt64Array()
}

// settle sorts the rows of one series, those from first on, by time, and drops samples that another of the same time outdoes.
func (m *seriesMerger) settle(first int) {
	rows := m.pending[first:]
	slices.SortStableFunc(rows, func(a, b rowRef) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.nanos, b.nanos), cmp.Compare(m.versionOf(a), m.versionOf(b)))
	})
	kept := rows[:0]
	for i, r := range rows {
		if i+1 < len(rows) && !r.before(rows[i+1]) && m.isSample(r) && m.isSample(rows[i+1]) {
			m.dropped++
			continue
		}
		kept = append(kept, r)
	}
	m.pending = m.pending[:first+len(kept)]
}

func (m *seriesMerger) versionOf(r rowRef) int64 {
	return m.version.arrays[r.record].(*array.Int64).Value(int(r.row)) //nolint:forcetypeassert // versions makes no other
}

func (m *seriesMerger) isSample(r rowRef) bool {
	rows, err := metricRowsOf(m.part.Records[r.record])
	return err == nil && rows.holdsSample(int(r.row))
}

// write writes whole row groups of the pending rows, all of them with last, and keeps the rest.
func (m *seriesMerger) write(ctx context.Context, w *fileWriter, last bool) error {
	versions := m.version.arrays
	m.attach()
	m.version.arrays = versions
	rest, err := w.write(ctx, m.pending, last)
	if err != nil {
		return err
	}
	m.keep(rest)
	return nil
}

// keep drops the records that no row is pending of. Those that inputs stand at are taken up again when their next series is.
func (m *seriesMerger) keep(rest []rowRef) {
	old, oldVersions := m.part.Records, m.version.arrays
	place := make(map[int16]int16)
	m.part.Records, m.version.arrays = nil, nil
	pending := make([]rowRef, len(rest))
	for i, r := range rest {
		to, ok := place[r.record]
		if !ok {
			to = int16(len(m.part.Records))
			place[r.record] = to
			old[r.record].Retain()
			m.part.Records = append(m.part.Records, old[r.record])
			m.version.arrays = append(m.version.arrays, oldVersions[r.record])
		}
		r.record = to
		pending[i] = r
	}
	m.pending = pending
	clear(m.added)
	releaseAll(old)
}
