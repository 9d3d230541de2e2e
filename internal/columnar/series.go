package columnar

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// SeriesRun is rows of one series that lie beside each other in a row group of a metrics file.
type SeriesRun struct {
	Metric, Labels string // as stored: the name, and the label set in the form of signal.LabelSet.AppendJSON
	Start, End     int    // rows of the row group, End exclusive
}

// SeriesReader reads a metrics file, which is sorted by series and then time, without making records: first the runs of a row group,
// then the columns that its caller needs of it. It is used by one goroutine.
type SeriesReader struct {
	f       *os.File
	parquet *file.Reader
	columns map[string]int // by physical name
	metrics []textRun      // of the last row group, as are the others
	labels  []textRun
	texts   []parquet.ByteArray
	levels  []int16
}

// OpenSeriesReader opens the metrics file at path.
func OpenSeriesReader(path string) (*SeriesReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open a data file")
	}
	r := &SeriesReader{f: f, columns: make(map[string]int)}
	if err := r.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *SeriesReader) open() (err error) {
	defer caught(&err)
	r.parquet, err = file.NewParquetReader(r.f)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "footer of a data file")
	}
	format, err := formatOf(r.parquet)
	if err != nil {
		return err
	}
	if _, err := openFormat(format); err != nil {
		return err
	}
	s := r.parquet.MetaData().Schema
	for i := range s.NumColumns() {
		r.columns[s.Column(i).Name()] = i
	}
	for _, name := range []string{signal.TimeColumn, signal.MetricColumn, signal.LabelsColumn} {
		if _, ok := r.columns[name]; !ok {
			return fault.New(fault.Corrupt, "metrics file without the column %s", name)
		}
	}
	return nil
}

// Close closes the file.
func (r *SeriesReader) Close() error {
	return errors.Join(r.parquet.Close(), ignoreClosed(r.f.Close()))
}

// Groups returns the number of row groups.
func (r *SeriesReader) Groups() int { return r.parquet.NumRowGroups() }

// Rows returns the number of rows of a row group.
func (r *SeriesReader) Rows(group int) int {
	return int(r.parquet.MetaData().RowGroup(group).NumRows())
}

// Has reports whether the file has a column of a physical name.
func (r *SeriesReader) Has(column string) bool {
	_, ok := r.columns[column]
	return ok
}

// Metrics returns bounds of the metric names in a row group, both inclusive. It is not ok when they are not known.
func (r *SeriesReader) Metrics(group int) (least, greatest string, ok bool) {
	low, high, ok := r.bounds(group, signal.MetricColumn)
	return string(low), string(high), ok
}

// Times returns bounds of the event times in a row group in microseconds, both inclusive. It is not ok when they are not known.
func (r *SeriesReader) Times(group int) (least, greatest int64, ok bool) {
	low, high, ok := r.bounds(group, signal.TimeColumn)
	if !ok || len(low) != 8 || len(high) != 8 {
		return 0, 0, false
	}
	return wordOf(low), wordOf(high), true
}

func (r *SeriesReader) bounds(group int, column string) (low, high []byte, ok bool) {
	chunk, err := r.parquet.MetaData().RowGroup(group).ColumnChunk(r.columns[column])
	if err != nil {
		return nil, nil, false
	}
	if set, err := chunk.StatsSet(); err != nil || !set {
		return nil, nil, false
	}
	s, err := chunk.Statistics()
	if err != nil || !s.HasMinMax() {
		return nil, nil, false
	}
	return s.EncodeMin(), s.EncodeMax(), true
}

// Runs appends the runs of a row group to dst, in their order. Their texts are copies.
func (r *SeriesReader) Runs(ctx context.Context, dst []SeriesRun, group int) (_ []SeriesRun, err error) {
	defer caught(&err)
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	if r.metrics, err = r.textRuns(r.metrics[:0], group, signal.MetricColumn); err != nil {
		return dst, err
	}
	if r.labels, err = r.textRuns(r.labels[:0], group, signal.LabelsColumn); err != nil {
		return dst, err
	}
	row, m := 0, 0
	for _, l := range r.labels {
		for row < l.end {
			end := min(l.end, r.metrics[m].end)
			dst = append(dst, SeriesRun{Metric: r.metrics[m].text, Labels: l.text, Start: row, End: end})
			if row = end; row == r.metrics[m].end {
				m++
			}
		}
	}
	return dst, nil
}

// eachText calls visit with every row of a text column that has no nulls. same says that the text is that of the row before.
func (r *SeriesReader) eachText(group int, column string, visit func(row int, text parquet.ByteArray, same bool)) error {
	c, rows, err := r.chunk(group, column)
	if err != nil {
		return err
	}
	texts, ok := c.(*file.ByteArrayColumnChunkReader)
	if !ok {
		return fault.New(fault.Corrupt, "column %s holds no texts", column)
	}
	var last parquet.ByteArray
	for row := 0; row < rows; {
		r.texts, r.levels = fit(r.texts, rows), fit(r.levels, rows)
		total, n, err := texts.ReadBatch(int64(rows-row), r.texts, r.levels, nil)
		if err != nil {
			return fault.Wrap(fault.Corrupt, err, "column %s", column)
		}
		if n == 0 || int(total) != n {
			return fault.New(fault.Corrupt, "column %s has no value in some row", column)
		}
		for _, text := range r.texts[:n] {
			same := row > 0 && len(text) == len(last) && (unsafe.SliceData(text) == unsafe.SliceData(last) || string(text) == string(last))
			visit(row, text, same)
			last = text
			row++
		}
	}
	return nil
}

// chunk opens a column of a row group.
func (r *SeriesReader) chunk(group int, column string) (file.ColumnChunkReader, int, error) {
	i, ok := r.columns[column]
	if !ok {
		return nil, 0, fault.New(fault.Internal, "the file has no column %s", column)
	}
	c, err := r.parquet.RowGroup(group).Column(i)
	if err != nil {
		return nil, 0, fault.Wrap(fault.Corrupt, err, "column %s", column)
	}
	return c, r.Rows(group), nil
}

// Ints returns a column of integers or times without nulls. The slice is dst's memory if that suffices.
func (r *SeriesReader) Ints(ctx context.Context, dst []int64, group int, column string) (_ []int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values, present, err := readColumn64(r, dst, group, column, (*file.Int64ColumnChunkReader).ReadBatch)
	if err == nil && present != nil {
		return nil, fault.New(fault.Corrupt, "column %s has no value in some row", column)
	}
	return values, err
}

// NullableInts returns a column of integers or times and which rows have a value; present is nil when all have.
func (r *SeriesReader) NullableInts(ctx context.Context, group int, column string) (values []int64, present []bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return readColumn64(r, nil, group, column, (*file.Int64ColumnChunkReader).ReadBatch)
}

// Floats returns a column of floats and which rows have a value; present is nil when all have. The bits are those that were written.
// The slice is dst's memory if that suffices.
func (r *SeriesReader) Floats(ctx context.Context, dst []float64, group int, column string) (values []float64, present []bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return readColumn64(r, dst, group, column, (*file.Float64ColumnChunkReader).ReadBatch)
}

// readColumn64 reads all rows of a column; a row without a value is zero.
func readColumn64[T int64 | float64, R any](r *SeriesReader, dst []T, group int, column string,
	read func(R, int64, []T, []int16, []int16) (int64, int, error),
) (values []T, present []bool, err error) {
	defer caught(&err)
	c, rows, err := r.chunk(group, column)
	if err != nil {
		return nil, nil, err
	}
	typed, ok := c.(R)
	if !ok {
		return nil, nil, fault.New(fault.Corrupt, "column %s is of another type", column)
	}
	values, r.levels = fit(dst, rows), fit(r.levels, rows)
	row, have := 0, 0
	for row < rows {
		total, n, err := read(typed, int64(rows-row), values[have:], r.levels[row:], nil)
		if err != nil || total == 0 {
			return nil, nil, fault.Wrap(fault.Corrupt, err, "column %s", column)
		}
		row, have = row+int(total), have+n
	}
	if have == rows {
		return values, nil, nil
	}
	present = make([]bool, rows)
	for i := rows - 1; i >= 0; i-- { // spread from behind, so that nothing is overwritten before it moves
		if r.levels[i] > 0 {
			have--
			values[i], present[i] = values[have], true
		} else {
			values[i] = 0
		}
	}
	return values, present, nil
}

// Bools returns a column of truth values; a row without one is false.
func (r *SeriesReader) Bools(ctx context.Context, group int, column string) (_ []bool, err error) {
	defer caught(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, rows, err := r.chunk(group, column)
	if err != nil {
		return nil, err
	}
	typed, ok := c.(*file.BooleanColumnChunkReader)
	if !ok {
		return nil, fault.New(fault.Corrupt, "column %s holds no truth values", column)
	}
	values, out := make([]bool, rows), make([]bool, rows)
	r.levels = fit(r.levels, rows)
	for row := 0; row < rows; {
		total, n, err := typed.ReadBatch(int64(rows-row), values, r.levels, nil)
		if err != nil || total == 0 {
			return nil, fault.Wrap(fault.Corrupt, err, "column %s", column)
		}
		have := 0
		for i := range int(total) {
			if n == int(total) || r.levels[i] > 0 {
				out[row+i] = values[have]
				have++
			}
		}
		row += int(total)
	}
	return out, nil
}

// Empty reports whether a column has no value in a row group, as far as the footer tells.
func (r *SeriesReader) Empty(group int, column string) bool {
	chunk, err := r.parquet.MetaData().RowGroup(group).ColumnChunk(r.columns[column])
	if err != nil {
		return false
	}
	s, err := chunk.Statistics()
	return err == nil && s != nil && s.HasNullCount() && s.NullCount() == int64(r.Rows(group))
}

// Texts calls visit with the rows of a text column that have a value, in order. The bytes are valid during the call.
func (r *SeriesReader) Texts(ctx context.Context, group int, column string, visit func(row int, text []byte)) (err error) {
	defer caught(&err)
	if err := ctx.Err(); err != nil {
		return err
	}
	c, rows, err := r.chunk(group, column)
	if err != nil {
		return err
	}
	texts, ok := c.(*file.ByteArrayColumnChunkReader)
	if !ok {
		return fault.New(fault.Corrupt, "column %s holds no texts", column)
	}
	r.texts, r.levels = fit(r.texts, rows), fit(r.levels, rows)
	for row := 0; row < rows; {
		total, n, err := texts.ReadBatch(int64(rows-row), r.texts, r.levels, nil)
		if err != nil || total == 0 {
			return fault.Wrap(fault.Corrupt, err, "column %s", column)
		}
		at := 0
		for i := range int(total) {
			if n == int(total) || r.levels[i] > 0 {
				visit(row+i, r.texts[at])
				at++
			}
		}
		row += int(total)
	}
	return nil
}

// fit returns a slice of n elements, in the memory of s if that suffices.
func fit[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// wordOf reads the plain form of a 64-bit value.
func wordOf(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
