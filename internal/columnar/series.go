package columnar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// SeriesRun is rows of one series that lie beside each other in a row group of a metrics file.
type SeriesRun struct {
	Metric, Labels string // as stored: the name, and the label set in the form of signal.LabelSet.AppendJSON
	Start, End     int    // rows of the row group, End exclusive
}

// SeriesFile is what the footer of a metrics file says. It is immutable and safe for concurrent use; it does not hold the file open.
type SeriesFile struct {
	file *parquetfile.File
}

// ReadSeriesFile reads the footer of the metrics file at path.
func ReadSeriesFile(path string) (*SeriesFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open a data file")
	}
	s, err := seriesFileOf(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return s, nil
}

func seriesFileOf(f *os.File) (*SeriesFile, error) {
	stat, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "size of a data file")
	}
	s := &SeriesFile{}
	if s.file, err = parquetfile.ReadFooter(f, stat.Size()); err != nil {
		return nil, err
	}
	if err := checkFormat(s.file); err != nil {
		return nil, err
	}
	for name, kind := range map[string]parquetfile.Kind{
		signal.TimeColumn: parquetfile.Timestamp, signal.MetricColumn: parquetfile.Text, signal.LabelsColumn: parquetfile.JSON,
	} {
		if !s.holds(name, kind) {
			return nil, fault.New(fault.Corrupt, "metrics file without the column %s", name)
		}
	}
	return s, nil
}

// holds reports whether there is a column of one of the kinds.
func (s *SeriesFile) holds(column string, kinds ...parquetfile.Kind) bool {
	i := s.file.Column(column)
	return i >= 0 && slices.Contains(kinds, s.file.Columns()[i].Kind)
}

// Size returns about how many bytes of memory the SeriesFile takes.
func (s *SeriesFile) Size() int64 { return s.file.Size() }

// Groups returns the number of row groups.
func (s *SeriesFile) Groups() int { return s.file.Groups() }

// Rows returns the number of rows of a row group.
func (s *SeriesFile) Rows(group int) int { return s.file.Rows(group) }

// Has reports whether the file has a column of a physical name.
func (s *SeriesFile) Has(column string) bool { return s.file.Column(column) >= 0 }

// MetricBounds returns bounds of the metric names in a row group, both inclusive. It is not ok when they are not known.
func (s *SeriesFile) MetricBounds(group int) (least, greatest string, ok bool) {
	low, high, ok := s.file.TextBounds(group, s.file.Column(signal.MetricColumn))
	return string(low), string(high), ok
}

// LabelBounds returns bounds of the label sets in a row group, both inclusive. It is not ok when they are not known.
func (s *SeriesFile) LabelBounds(group int) (least, greatest string, ok bool) {
	low, high, ok := s.file.TextBounds(group, s.file.Column(signal.LabelsColumn))
	return string(low), string(high), ok
}

// Times returns bounds of the event times in a row group in microseconds, both inclusive. It is not ok when they are not known.
func (s *SeriesFile) Times(group int) (least, greatest int64, ok bool) {
	return s.file.IntBounds(group, s.file.Column(signal.TimeColumn))
}

// Empty reports whether a column has no value in a row group, as far as the footer tells.
func (s *SeriesFile) Empty(group int, column string) bool {
	i := s.file.Column(column)
	if i < 0 {
		return true
	}
	nulls, ok := s.file.Nulls(group, i)
	return ok && nulls == int64(s.Rows(group))
}

// Full reports whether a column has a value in every row of a row group, as far as the footer tells.
func (s *SeriesFile) Full(group int, column string) bool {
	i := s.file.Column(column)
	if i < 0 {
		return false
	}
	nulls, ok := s.file.Nulls(group, i)
	return ok && nulls == 0
}

// SeriesReader reads a metrics file, which is sorted by series and then time, without making records: first the runs of a row group,
// then the columns that its caller needs of it. It is used by one goroutine.
type SeriesReader struct {
	*SeriesFile
	in      *os.File
	decoder *parquetfile.Decoder
	values  parquetfile.Values // of the last column, as the others
	labels  parquetfile.Values
	runs    Runs
}

// OpenSeriesReader opens the metrics file at path.
func OpenSeriesReader(path string) (*SeriesReader, error) {
	r, err := NewSeriesReader()
	if err != nil {
		return nil, err
	}
	if err := r.Open(path, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// NewSeriesReader returns a reader that has no file yet.
func NewSeriesReader() (*SeriesReader, error) {
	d, err := parquetfile.NewDecoder()
	if err != nil {
		return nil, err
	}
	return &SeriesReader{decoder: d}, nil
}

// Open opens the metrics file at path, whose footer is read unless it is given. The reader must have no file: it is new, or closed.
func (r *SeriesReader) Open(path string, known *SeriesFile) error {
	f, err := os.Open(path)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open a data file")
	}
	if known == nil {
		if known, err = seriesFileOf(f); err != nil {
			return errors.Join(fmt.Errorf("open %s: %w", path, err), f.Close())
		}
	}
	r.in, r.SeriesFile = f, known
	return nil
}

// Close closes the file. The reader can open another.
func (r *SeriesReader) Close() error {
	f := r.in
	r.in, r.SeriesFile = nil, nil
	return f.Close()
}

// Runs appends the runs of a row group to dst, in their order. Their texts are copies.
func (r *SeriesReader) Runs(ctx context.Context, dst []SeriesRun, group int) ([]SeriesRun, error) {
	runs, err := r.BorrowRuns(ctx, group, "")
	if err != nil {
		return dst, err
	}
	var last []byte
	set := ""
	runs.Each(0, r.Rows(group), func(metric string, text []byte, start, end int) {
		if start == 0 || !bytes.Equal(text, last) {
			last, set = text, string(text)
		}
		dst = append(dst, SeriesRun{Metric: metric, Labels: set, Start: start, End: end})
	})
	return dst, nil
}

// Runs are the runs of a row group while its reader reads no other.
type Runs struct {
	metrics []parquetfile.Run
	sets    []parquetfile.Run
}

// BorrowRuns reads the runs of a row group. They are valid until the reader reads something else. With a metric, its caller wants rows of
// that one alone, and the column of names is not read.
func (r *SeriesReader) BorrowRuns(ctx context.Context, group int, metric string) (*Runs, error) {
	r.runs.metrics = append(r.runs.metrics[:0], parquetfile.Run{Text: []byte(metric), End: r.Rows(group)})
	if metric == "" {
		if err := r.read(ctx, group, signal.MetricColumn, &r.values, parquetfile.Text); err != nil {
			return nil, err
		}
		if r.values.Present != nil {
			return nil, fault.New(fault.Corrupt, "a row without a metric")
		}
		r.runs.metrics = r.values.Runs(r.runs.metrics[:0])
	}
	if err := r.read(ctx, group, signal.LabelsColumn, &r.labels, parquetfile.JSON); err != nil {
		return nil, err
	}
	if r.labels.Present != nil {
		return nil, fault.New(fault.Corrupt, "a row without labels")
	}
	r.runs.sets = r.labels.Runs(r.runs.sets[:0])
	return &r.runs, nil
}

// Count returns about how many runs there are between two rows.
func (r *Runs) Count(start, end int) int {
	at := func(row int) int {
		i, _ := slices.BinarySearchFunc(r.sets, row, func(x parquetfile.Run, row int) int { return x.End - row })
		return i
	}
	return at(end) - at(start) + 1
}

// Each calls visit with the runs between two rows, end exclusive; the first and the last may be cut. The set is borrowed.
func (r *Runs) Each(start, end int, visit func(metric string, set []byte, start, end int)) {
	after := func(x parquetfile.Run, row int) int {
		if x.End > row {
			return 1
		}
		return -1
	}
	m, _ := slices.BinarySearchFunc(r.metrics, start, after)
	s, _ := slices.BinarySearchFunc(r.sets, start, after)
	metric, metricEnd := "", start
	for start < end {
		if start == metricEnd {
			metric, metricEnd = string(r.metrics[m].Text), r.metrics[m].End
			m++
		}
		to := min(metricEnd, r.sets[s].End, end)
		visit(metric, r.sets[s].Text, start, to)
		if start = to; start == r.sets[s].End {
			s++
		}
	}
}

// Metrics calls visit with the rows of every metric of a row group, in their order. The name is borrowed.
func (r *SeriesReader) Metrics(ctx context.Context, group int, visit func(metric []byte, start, end int)) error {
	if err := r.read(ctx, group, signal.MetricColumn, &r.values, parquetfile.Text); err != nil {
		return err
	}
	r.runs.metrics = r.values.Runs(r.runs.metrics[:0])
	start := 0
	for _, x := range r.runs.metrics {
		visit(x.Text, start, x.End)
		start = x.End
	}
	return nil
}

// Present returns which rows have a value in a column; nil when all have. The slice is valid until the reader reads something else.
func (r *SeriesReader) Present(ctx context.Context, group int, column string) ([]bool, error) {
	i := r.file.Column(column)
	if i < 0 {
		return nil, fault.New(fault.Internal, "the file has no column %s", column)
	}
	err := r.read(ctx, group, column, &r.values, r.file.Columns()[i].Kind)
	return r.values.Present, err
}

// read reads a column of a row group, which must be of one of the kinds.
func (r *SeriesReader) read(ctx context.Context, group int, column string, v *parquetfile.Values, kinds ...parquetfile.Kind) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !r.holds(column, kinds...) {
		return fault.New(fault.Corrupt, "metrics file without a column %s of the kinds %v", column, kinds)
	}
	return r.decoder.Read(r.in, r.file, group, r.file.Column(column), v)
}

// Ints returns a column of integers or times without nulls. The slice is dst's memory if that suffices.
func (r *SeriesReader) Ints(ctx context.Context, dst []int64, group int, column string) ([]int64, error) {
	values, present, err := r.ints(ctx, dst, group, column)
	if err == nil && present != nil {
		return nil, fault.New(fault.Corrupt, "column %s has no value in some row", column)
	}
	return values, err
}

// NullableInts returns a column of integers or times and which rows have a value, others are zero; present is nil when all have.
func (r *SeriesReader) NullableInts(ctx context.Context, group int, column string) (values []int64, present []bool, err error) {
	return r.ints(ctx, nil, group, column)
}

func (r *SeriesReader) ints(ctx context.Context, dst []int64, group int, column string) (values []int64, present []bool, err error) {
	v := &r.values
	v.Ints = dst
	if err := r.read(ctx, group, column, v, parquetfile.Int16, parquetfile.Int64, parquetfile.Timestamp); err != nil {
		return nil, nil, err
	}
	values, v.Ints = v.Ints, nil
	return values, slices.Clone(v.Present), nil
}

// Floats returns a column of floats and which rows have a value; present is nil when all have. The bits are those that were written.
// The slice is dst's memory if that suffices.
func (r *SeriesReader) Floats(ctx context.Context, dst []float64, group int, column string) (values []float64, present []bool, err error) {
	v := &r.values
	v.Floats = dst
	if err := r.read(ctx, group, column, v, parquetfile.Float64); err != nil {
		return nil, nil, err
	}
	values, v.Floats = v.Floats, nil
	return values, slices.Clone(v.Present), nil
}

// Bools returns a column of truth values; a row without one is false. The slice is valid until the next call.
func (r *SeriesReader) Bools(ctx context.Context, group int, column string) ([]bool, error) {
	if err := r.read(ctx, group, column, &r.values, parquetfile.Bool); err != nil {
		return nil, err
	}
	return r.values.Bools, nil
}

// Texts calls visit with the rows of a text column that have a value, in order. The bytes are valid during the call.
func (r *SeriesReader) Texts(ctx context.Context, group int, column string, visit func(row int, text []byte)) error {
	v := &r.values
	if err := r.read(ctx, group, column, v, parquetfile.Text, parquetfile.JSON); err != nil {
		return err
	}
	for row := range v.Rows {
		if v.Has(row) {
			visit(row, v.Texts.Row(row))
		}
	}
	return nil
}
