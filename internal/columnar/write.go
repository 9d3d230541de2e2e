package columnar

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// Defaults of WriteOptions (docs/performance.md, section "Segment writer", has the figures).
const (
	DefaultRowGroupRows = 8192
	DefaultLevel        = 1
)

// Columns returns the id and physical name of a stream's column by its logical name. It is false for a name that was never
// reserved; a file with such a column is refused.
type Columns func(name string) (catalog.Column, bool)

// WriteOptions configure one file.
type WriteOptions struct {
	Segment      catalog.SegmentID
	RowGroupRows int // rows a row group; 0 = DefaultRowGroupRows
	Level        int // of zstd, 1 to 19; 0 = DefaultLevel
	Sort         Order
	Index        bool // build the search index in the same pass (Info.Index)
}

func (o WriteOptions) withDefaults() WriteOptions {
	if o.RowGroupRows == 0 {
		o.RowGroupRows = DefaultRowGroupRows
	}
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	return o
}

func (o WriteOptions) validate(rows int) error {
	switch groups := (rows + o.RowGroupRows - 1) / max(o.RowGroupRows, 1); {
	case o.RowGroupRows < 1:
		return fault.New(fault.Internal, "row groups of %d rows", o.RowGroupRows)
	case groups > 1<<BlockBits:
		return fault.New(fault.Internal, "%d row groups in a file, more than _block can number", groups)
	case o.Segment < 1 || o.Segment >= 1<<(63-BlockBits):
		return fault.New(fault.Internal, "segment number %d is out of range", o.Segment)
	case o.Sort > BySeries:
		return fault.New(fault.Internal, "unknown order %d", o.Sort)
	}
	return nil
}

// BlockBits is the width of the row group's number in signal.BlockColumn; the segment's number stands above it.
const BlockBits = 20

// Block returns the value of signal.BlockColumn in a row group.
func Block(segment catalog.SegmentID, rowGroup int) int64 {
	return int64(segment)<<BlockBits | int64(rowGroup)
}

// WriteFile sorts the rows of a part and writes them as one file of the writable format to path, which it replaces. The file is
// synced when WriteFile returns; its directory is not. After an error there is no file. By BySeries, duplicate samples are left out.
func WriteFile(ctx context.Context, path string, part Part, cols Columns, opts WriteOptions) (Info, error) {
	opts = opts.withDefaults()
	if err := opts.validate(part.NumRows()); err != nil {
		return Info{}, err
	}
	return createFile(path, func(f io.Writer) (Info, error) { return writeTo(ctx, f, part, cols, opts) })
}

// createFile makes the file at path, has it written, and syncs it. After an error there is no file.
func createFile(path string, write func(io.Writer) (Info, error)) (Info, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return Info{}, fault.Wrap(fault.Unavailable, err, "create a data file")
	}
	info, err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Info{}, errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
	}
	return info, nil
}

// writeTo writes the file's bytes.
func writeTo(ctx context.Context, out io.Writer, part Part, cols Columns, opts WriteOptions) (Info, error) {
	if len(part.Records) > maxRecords {
		return Info{}, fault.New(fault.Internal, "%d records in one part, more than %d", len(part.Records), maxRecords)
	}
	fields, err := fieldsOf(&part, cols)
	if err != nil {
		return Info{}, err
	}
	refs := sortedRows(&part, opts.Sort)
	if len(refs) == 0 {
		return Info{}, fault.New(fault.Internal, "a part without rows")
	}
	w, err := newFileWriter(out, fields, hasNanos(&part, refs), opts)
	if err != nil {
		return Info{}, err
	}
	if _, err := w.write(ctx, refs, true); err != nil {
		return Info{}, err
	}
	info, err := w.finish()
	info.Duplicates = int64(part.NumRows() - len(refs))
	return info, err
}

// fileWriter writes one file of format 1.
type fileWriter struct {
	fields []*field
	nanos  bool
	opts   WriteOptions
	out    *bufio.Writer
	sum    hash.Hash64
	file   *parquetfile.Writer
	gather gatherer
	index  *indexer        // nil without one
	labels *labelCollector // nil but for metrics
	texts  textReader      // of copied row groups
	info   Info
}

// newFileWriter begins a file of the given columns.
func newFileWriter(out io.Writer, fields []*field, nanos bool, opts WriteOptions) (*fileWriter, error) {
	w := &fileWriter{fields: fields, nanos: nanos, opts: opts, sum: xxhash.New(), info: Info{Format: Writable}}
	if opts.Index {
		w.index = newIndexer(fields)
	}
	if opts.Sort == BySeries {
		w.labels = newLabelCollector()
	}
	w.out = bufio.NewWriterSize(io.MultiWriter(out, w.sum), 256<<10)
	var err error
	w.file, err = parquetfile.NewWriter(w.out, w.columns(), parquetfile.Options{
		Level:     opts.Level,
		CreatedBy: "millstream",
		Meta:      [][2]string{{metaFormat, strconv.Itoa(Writable)}},
	})
	return w, err
}

// write writes sorted rows in whole row groups and returns those that are left over; with last, the end may be a smaller group and
// nothing is left. The fields' arrays are those that refs count by.
func (w *fileWriter) write(ctx context.Context, refs []rowRef, last bool) (rest []rowRef, err error) {
	for rest = refs; len(rest) >= w.opts.RowGroupRows || last && len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(len(rest), w.opts.RowGroupRows)
		if err := w.rowGroup(rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return rest, nil
}

// finish writes the footer and returns what the catalog keeps.
func (w *fileWriter) finish() (Info, error) {
	if table := w.labels.table(w.fields, w.info.Rows); table != "" {
		w.file.AddMeta(metaLabels, table)
	}
	if err := errors.Join(w.file.Close(), w.out.Flush()); err != nil {
		return Info{}, err
	}
	w.info.Bytes = w.file.Size()
	w.info.RowGroups = w.file.RowGroups()
	w.info.Checksum = checksumText(w.sum.Sum64())
	w.info.describe(w.fields, w.nanos)
	if w.index != nil {
		w.info.Index = w.index.builder
	}
	return w.info, nil
}

func (w *fileWriter) columns() []parquetfile.Column {
	cols := []parquetfile.Column{{Name: signal.TimeColumn, Kind: parquetfile.Timestamp, Required: true, Sequence: true}}
	if w.nanos {
		cols = append(cols, parquetfile.Column{Name: signal.NanosColumn, Kind: parquetfile.Int16, Required: true})
	}
	cols = append(cols, parquetfile.Column{Name: signal.BlockColumn, Kind: parquetfile.Int64, Required: true})
	for _, f := range w.fields {
		cols = append(cols, f.fileColumn())
	}
	return cols
}

func (w *fileWriter) rowGroup(refs []rowRef) error {
	block := Block(w.opts.Segment, w.file.RowGroups())
	w.file.BeginRowGroup(len(refs))
	times, err := w.own(refs, func(r rowRef) int64 { return r.time })
	if err != nil {
		return err
	}
	w.addRows(len(refs), times.MinInt, times.MaxInt)
	if w.nanos {
		if _, err := w.own(refs, func(r rowRef) int64 { return int64(r.nanos) }); err != nil {
			return err
		}
	}
	if _, err := w.own(refs, func(rowRef) int64 { return block }); err != nil {
		return err
	}
	for _, f := range w.fields {
		chunk := w.gather.gather(f, refs)
		stats, err := w.file.WriteChunk(chunk)
		if err != nil {
			return err
		}
		f.measure(stats, chunk)
		w.index.add(f, w.file, chunk, len(refs))
	}
	w.index.endRowGroup()
	return w.labels.add(w.fields, refs)
}

// addRows counts rows with times between two, both inclusive.
func (w *fileWriter) addRows(rows int, low, high int64) {
	if w.info.Rows == 0 {
		w.info.MinTime, w.info.MaxTime = low, high
	}
	w.info.MinTime, w.info.MaxTime = min(w.info.MinTime, low), max(w.info.MaxTime, high)
	w.info.Rows += int64(rows)
}

// own writes a column of ours.
func (w *fileWriter) own(refs []rowRef, value func(rowRef) int64) (parquetfile.Stats, error) {
	c := &w.gather.chunk
	c.Present, c.Ints = nil, c.Ints[:0]
	for _, r := range refs {
		c.Ints = append(c.Ints, value(r))
	}
	return w.file.WriteChunk(c)
}

func hasNanos(p *Part, refs []rowRef) bool {
	for _, r := range p.Records {
		if signal.Nanos(r) != nil {
			for _, ref := range refs {
				if ref.nanos != 0 {
					return true
				}
			}
			return false
		}
	}
	return false
}
