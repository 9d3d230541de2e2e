package columnar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// Source is a file to merge, its bytes checked against the catalog's checksum by the caller.
type Source struct {
	Path    string
	Segment catalog.SegmentID // needed for BySeries alone
	Columns []catalog.SegmentColumn
}

// Merge merges files of one dataset, each sorted as opts.Sort says, into one file at path (see WriteFile). It streams: memory is a row
// group of each source and a few of the result. By time, rows of equal time come in no certain order, and row groups whose times no other
// source shares are copied as they are; by series, samples that another
// one of the same time outdoes are dropped (Info.Duplicates). The caller compares Info.Rows with what the sources hold.
func Merge(ctx context.Context, path string, sources []Source, opts WriteOptions) (Info, error) {
	opts = opts.withDefaults()
	if opts.Sort == BySeries {
		return mergeSeries(ctx, path, sources, opts)
	}
	info, err := mergeByTime(ctx, path, sources, opts, true)
	if fault.Is(err, fault.Unsupported) { // a source of another encoder, which can be read but not copied
		return mergeByTime(ctx, path, sources, opts, false)
	}
	return info, err
}

func mergeByTime(ctx context.Context, path string, sources []Source, opts WriteOptions, copies bool) (Info, error) {
	fields, nanos, err := mergedFields(sources)
	if err != nil {
		return Info{}, err
	}
	m := &merger{fields: fields}
	defer m.close()
	for _, s := range sources {
		r, err := OpenReader(s.Path, columnKey)
		if err != nil {
			return Info{}, err
		}
		in := &mergeInput{reader: r}
		if m.inputs = append(m.inputs, in); copies {
			in.copier = newCopier(r, s.Columns, fields, nanos)
		}
	}
	return createFile(path, func(f io.Writer) (Info, error) {
		w, err := newFileWriter(f, fields, nanos, opts)
		if err != nil {
			return Info{}, err
		}
		if err := m.run(ctx, w); err != nil {
			return Info{}, err
		}
		return w.finish()
	})
}

// columnKey names a column by its id while files are merged: logical names play no part.
func columnKey(id catalog.ColumnID) (string, bool) { return strconv.Itoa(int(id)), true }

// mergedFields unites the physical columns of the sources.
func mergedFields(sources []Source) (fields []*field, nanos bool, err error) {
	type key struct {
		id  catalog.ColumnID
		typ signal.Type
	}
	found := make(map[key]bool)
	physical := make(map[string]catalog.Column)
	for _, s := range sources {
		for _, c := range s.Columns {
			if c.ID == 0 {
				nanos = nanos || c.Physical == signal.NanosColumn
				continue
			}
			name, _ := columnKey(c.ID)
			physical[name] = catalog.Column{ID: c.ID, Physical: strings.TrimPrefix(c.Physical, VariantPrefix+c.Type.String()+".")}
			if !found[key{c.ID, c.Type}] {
				found[key{c.ID, c.Type}] = true
				fields = append(fields, &field{name: name, typ: c.Type, exact: true})
			}
		}
	}
	return fields, nanos, nameFields(fields, func(name string) (catalog.Column, bool) {
		c, ok := physical[name]
		return c, ok
	})
}

// merger holds the rows that are read and not written.
type merger struct {
	fields []*field
	inputs []*mergeInput
	part   Part // rows in order of arrival, by record
}

// mergeInput is a source with the row group that was read last.
type mergeInput struct {
	reader *Reader
	copier *copier           // nil when its row groups cannot be copied
	record arrow.RecordBatch // nil before the first and after the last row group
	next   int               // first row of record that is not in the part
	ended  bool
}

func (m *merger) close() {
	for _, in := range m.inputs {
		in.release()
		_ = in.reader.Close() // read only
	}
	releaseAll(m.part.Records)
}

func (in *mergeInput) release() {
	if in.record != nil {
		in.record.Release()
		in.record = nil
	}
}

// run moves rows in rounds: all inputs show a row group, what is certain to come first is taken over, whole row groups of it are
// written.
func (m *merger) run(ctx context.Context, w *fileWriter) error {
	for {
		if copied, err := m.copyNext(ctx, w); err != nil {
			return err
		} else if copied {
			continue
		}
		last, err := m.fill(ctx)
		if err != nil {
			return err
		}
		m.take()
		few := m.part.NumRows() < w.opts.RowGroupRows
		large := m.partBytes() >= maxGroupBytes
		if !last && few && !large {
			continue
		}
		if err := m.write(ctx, w, last || few); err != nil || last {
			return err
		}
	}
}

// fill reads the next row group of every input whose last one is used up. It reports whether all have ended.
func (m *merger) fill(ctx context.Context) (ended bool, err error) {
	ended = true
	for _, in := range m.inputs {
		for !in.ended && (in.record == nil || in.next == int(in.record.NumRows())) {
			in.release()
			in.next = 0
			in.record, err = in.reader.Next(ctx)
			if errors.Is(err, io.EOF) {
				in.record, in.ended = nil, true
				break
			}
			if err != nil {
				return false, fmt.Errorf("read a source: %w", err)
			}
		}
		ended = ended && in.ended
	}
	return ended, nil
}

// take moves to the part the rows up to the least of the inputs' last rows: none that is still to come is earlier.
func (m *merger) take() {
	var bound *rowRef
	for _, in := range m.inputs {
		if in.record == nil {
			continue
		}
		if last := in.ref(int(in.record.NumRows()) - 1); bound == nil || last.before(*bound) {
			bound = &last
		}
	}
	for _, in := range m.inputs {
		if in.record == nil {
			continue
		}
		left := int(in.record.NumRows()) - in.next
		end := in.next + sort.Search(left, func(i int) bool { return bound.before(in.ref(in.next + i)) })
		if end == in.next {
			continue
		}
		rows := make([]int32, 0, end-in.next)
		for row := in.next; row < end; row++ {
			rows = append(rows, int32(row))
		}
		in.record.Retain()
		m.part.Records, m.part.Rows = append(m.part.Records, in.record), append(m.part.Rows, rows)
		in.next = end
	}
}

// ref returns what a row of the input's record is sorted by.
func (in *mergeInput) ref(row int) rowRef {
	r := rowRef{time: int64(signal.Times(in.record)[row])}
	if nanos := signal.Nanos(in.record); nanos != nil {
		r.nanos = nanos[row]
	}
	return r
}

// before compares by time and nanoseconds alone.
func (r rowRef) before(o rowRef) bool {
	return r.time < o.time || r.time == o.time && r.nanos < o.nanos
}

// write writes whole row groups of the part, all of it with last, and keeps the rest.
func (m *merger) write(ctx context.Context, w *fileWriter, last bool) error {
	m.attach()
	rest, err := w.write(ctx, sortedRows(&m.part, ByTime), last)
	if err != nil {
		return err
	}
	kept := Part{}
	for len(rest) > 0 {
		record := rest[0].record
		var rows []int32
		others := rest[:0:0]
		for _, r := range rest {
			if r.record == record {
				rows = append(rows, r.row)
			} else {
				others = append(others, r)
			}
		}
		slices.Sort(rows)
		m.part.Records[record].Retain()
		kept.Records, kept.Rows = append(kept.Records, m.part.Records[record]), append(kept.Rows, rows)
		rest = others
	}
	releaseAll(m.part.Records)
	m.part = kept
	return nil
}

// maxGroupBytes is about the most memory of the rows of one row group: those of large rows are fewer.
const maxGroupBytes = 64 << 20

// partBytes returns about how much memory the rows of the part take.
func (m *merger) partBytes() (bytes int64) {
	for i, r := range m.part.Records {
		bytes += recordBytes(r) * int64(len(m.part.Rows[i])) / r.NumRows()
	}
	return bytes
}

// attach points the fields to the part's records.
func (m *merger) attach() {
	for _, f := range m.fields {
		f.arrays = make([]arrow.Array, len(m.part.Records))
	}
	for i, r := range m.part.Records {
		s := r.Schema()
		for j := signal.FirstField(s); j < s.NumFields(); j++ {
			typ, _ := signal.FieldType(s.Field(j))
			for _, f := range m.fields {
				if f.name == s.Field(j).Name && f.typ == typ {
					f.arrays[i] = r.Column(j)
				}
			}
		}
	}
}

func releaseAll(records []arrow.RecordBatch) {
	for _, r := range records {
		r.Release()
	}
}
