package columnar

import (
	"bytes"
	"context"
	"io"
	"math"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// copyFraction is the part of a full row group below which one is not copied but merged with its neighbours.
const copyFraction = 2

// copier copies row groups of a source as they are: pages are not decoded, but for the texts, which the index needs.
type copier struct {
	in      io.ReaderAt
	file    *parquetfile.File
	time    int
	nanos   int   // column, -1 when the source has none
	columns []int // by field of the result, -1 when the source has none
}

// textReader decodes the texts of copied row groups, one column after the other.
type textReader struct {
	decoder *parquetfile.Decoder
	values  parquetfile.Values
}

// newCopier returns nil for a source that was not written by us.
func newCopier(r *Reader, columns []catalog.SegmentColumn, fields []*field, nanos bool) *copier {
	stat, err := r.f.Stat()
	if err != nil {
		return nil
	}
	file, err := parquetfile.ReadFooter(r.f, stat.Size())
	if err != nil || file.Groups() != r.parquet.NumRowGroups() {
		return nil
	}
	c := &copier{in: r.f, file: file, time: file.Column(signal.TimeColumn), nanos: file.Column(signal.NanosColumn)}
	if c.time < 0 || c.nanos >= 0 && !nanos {
		return nil
	}
	for _, f := range fields {
		at := -1
		for _, x := range columns {
			if x.ID == f.column.ID && x.Type == f.typ {
				at = file.Column(x.Physical)
				if at < 0 || file.Columns()[at].Kind != f.fileColumn().Kind || file.Columns()[at].Required {
					return nil
				}
			}
		}
		c.columns = append(c.columns, at)
	}
	return c
}

// copyNext copies the row group that comes next as a whole, if there is one: before all rows of other sources, and none of its own
// read yet. Rows that are held come before it and are written first.
func (m *merger) copyNext(ctx context.Context, w *fileWriter) (bool, error) {
	in := m.first()
	if in == nil || in.copier == nil {
		return false, nil
	}
	group, whole := in.untouched()
	if !whole {
		return false, nil
	}
	if in.copier.file.Rows(group) < w.opts.RowGroupRows/copyFraction || in.copier.file.Rows(group) > w.opts.RowGroupRows {
		return false, nil
	}
	_, high, ok := in.copier.file.IntBounds(group, in.copier.time)
	if !ok || !in.copier.fits(group, w) {
		return false, nil
	}
	for _, other := range m.inputs {
		if low, some := other.low(); other != in && some && low <= high {
			return false, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if m.part.NumRows() > 0 {
		if err := m.write(ctx, w, true); err != nil {
			return false, err
		}
	}
	in.release()
	in.next, in.reader.next = 0, group+1
	return true, w.copyGroup(in.copier, group)
}

// untouched returns the row group that comes next, and whether none of its rows is taken yet.
func (in *mergeInput) untouched() (group int, whole bool) {
	switch {
	case in.record == nil || in.next == int(in.record.NumRows()):
		return in.reader.next, true
	case in.next == 0:
		return in.reader.next - 1, true
	default:
		return 0, false
	}
}

// first returns the input whose next row is the earliest, nil when none has one.
func (m *merger) first() *mergeInput {
	var first *mergeInput
	var least int64
	for _, in := range m.inputs {
		if low, some := in.low(); some && (first == nil || low < least) {
			first, least = in, low
		}
	}
	return first
}

// low returns a bound of the times of the rows that are still to come from the input; false when there are none. A source whose
// bounds are not known counts as the earliest.
func (in *mergeInput) low() (int64, bool) {
	if in.record != nil && in.next < int(in.record.NumRows()) {
		return in.ref(in.next).time, true
	}
	if in.ended || in.reader.next == in.reader.parquet.NumRowGroups() {
		return 0, false
	}
	if in.copier != nil {
		if low, _, ok := in.copier.file.IntBounds(in.reader.next, in.copier.time); ok {
			return low, true
		}
	}
	return math.MinInt64, true
}

// fits reports whether everything is known of the columns of a row group that a file must say of them, and its texts can be read. A
// damaged one does not fit: reading it tells what is wrong.
func (c *copier) fits(group int, w *fileWriter) bool {
	for i, f := range w.fields {
		at := c.columns[i]
		if at < 0 {
			continue
		}
		if nulls, ok := c.file.Nulls(group, at); !ok || nulls > int64(c.file.Rows(group)) {
			return false
		}
		if f.typ == signal.String || f.typ == signal.JSON {
			if !w.file.CanCopy(c.in, c.file, group, at) {
				return false
			}
			continue
		}
		s, ok := c.file.NumberStats(group, at)
		if !ok || f.typ == signal.Int64 && s.Values > 0 && (s.MinInt < -maxExactInt || s.MaxInt > maxExactInt) {
			return false
		}
	}
	return true
}

// copyGroup writes a row group of a source as the next one.
func (w *fileWriter) copyGroup(c *copier, group int) error {
	rows := c.file.Rows(group)
	block := Block(w.opts.Segment, w.file.RowGroups())
	low, high, ok := c.file.IntBounds(group, c.time)
	if !ok {
		return fault.New(fault.Internal, "a row group without bounds of time is not copied")
	}
	w.file.BeginRowGroup(rows)
	if err := w.file.CopyChunk(c.in, c.file, group, c.time); err != nil {
		return err
	}
	w.addRows(rows, low, high)
	if w.nanos {
		if err := w.copyNanos(c, group); err != nil {
			return err
		}
	}
	if err := w.constant(rows, block); err != nil {
		return err
	}
	for i, f := range w.fields {
		if err := w.copyField(c, group, f, c.columns[i]); err != nil {
			return err
		}
	}
	w.index.endRowGroup()
	return nil
}

func (w *fileWriter) copyNanos(c *copier, group int) error {
	if c.nanos >= 0 {
		return w.file.CopyChunk(c.in, c.file, group, c.nanos)
	}
	return w.constant(c.file.Rows(group), 0)
}

// constant writes a column of ours with one value.
func (w *fileWriter) constant(rows int, value int64) error {
	c := &w.gather.chunk
	c.Present, c.Ints = nil, c.Ints[:0]
	for range rows {
		c.Ints = append(c.Ints, value)
	}
	_, err := w.file.WriteChunk(c)
	return err
}

// copyField copies a column, or writes one without values where the source has none.
func (w *fileWriter) copyField(c *copier, group int, f *field, column int) error {
	if column < 0 {
		chunk := &parquetfile.Chunk{Present: make([]bool, c.file.Rows(group))}
		stats, err := w.file.WriteChunk(chunk)
		f.measure(stats, chunk)
		return err
	}
	if err := w.file.CopyChunk(c.in, c.file, group, column); err != nil {
		return err
	}
	if f.typ != signal.String && f.typ != signal.JSON {
		stats, ok := c.file.NumberStats(group, column)
		if !ok {
			return fault.New(fault.Internal, "a column without statistics is not copied")
		}
		f.stats.Join(stats)
		return nil
	}
	if w.texts.decoder == nil {
		var err error
		if w.texts.decoder, err = parquetfile.NewDecoder(); err != nil {
			return err
		}
	}
	v := &w.texts.values
	if err := w.texts.decoder.Read(c.in, c.file, group, column, v); err != nil {
		return err
	}
	f.stats.Join(textStats(v))
	w.index.addValues(f, v)
	return nil
}

// textStats measures texts. Every entry of a dictionary occurs.
func textStats(v *parquetfile.Values) parquetfile.Stats {
	s := parquetfile.Stats{}
	var least, greatest []byte
	note := func(text []byte) {
		if least == nil || bytes.Compare(text, least) < 0 {
			least = text
		}
		if greatest == nil || bytes.Compare(text, greatest) > 0 {
			greatest = text
		}
	}
	for row := range v.Rows {
		if !v.Has(row) {
			s.Nulls++
			continue
		}
		s.Values++
		if v.Texts.Index == nil {
			note(v.Texts.Entry(row))
		}
	}
	if v.Texts.Index != nil {
		for i := range v.Texts.Starts {
			note(v.Texts.Entry(i))
		}
	}
	s.MinText, s.MaxText = string(least), string(greatest)
	return s
}
