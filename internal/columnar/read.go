package columnar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/cespare/xxhash/v2"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// Names returns the logical name of a column by its id. It is false for a column that is not wanted.
type Names func(catalog.ColumnID) (string, bool)

// readColumn is one column of a file that a Reader gives back.
type readColumn struct {
	index int         // in the file
	field arrow.Field // of the record
}

// Reader reads a data file back, row group by row group. It is used by one goroutine.
type Reader struct {
	f       *os.File
	parquet *file.Reader
	arrow   *pqarrow.FileReader
	columns []readColumn
	next    int
}

// OpenReader opens the data file at path and chooses its columns; signal.TimeColumn and signal.NanosColumn always come.
func OpenReader(path string, names Names) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open a data file")
	}
	r := &Reader{f: f}
	if err := r.open(names); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *Reader) open(names Names) (err error) {
	defer caught(&err)
	r.parquet, err = file.NewParquetReader(r.f)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "footer of a data file")
	}
	r.arrow, err = pqarrow.NewFileReader(r.parquet, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "schema of a data file")
	}
	format, err := formatOf(r.parquet)
	if err != nil {
		return err
	}
	l, err := openFormat(format)
	if err != nil {
		return err
	}
	r.columns, err = l.columns(r.parquet, names)
	return err
}

// Rows returns the number of rows in the file.
func (r *Reader) Rows() int64 { return r.parquet.NumRows() }

// Next returns the rows of the next row group, in the shape of package signal, and io.EOF after the last. Variants of a column
// stand beside each other under one name. The caller releases the record.
func (r *Reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.next == r.parquet.NumRowGroups() {
		return nil, io.EOF
	}
	rec, err := r.rowGroup(ctx, r.next)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Wrap(fault.Corrupt, err, "row group %d of %s", r.next, r.f.Name())
	}
	r.next++
	return rec, nil
}

// rowGroup reads column by column in this goroutine, so that a panic of the decoder over damaged bytes is caught here.
func (r *Reader) rowGroup(ctx context.Context, group int) (_ arrow.RecordBatch, err error) {
	fields := make([]arrow.Field, len(r.columns))
	arrays := make([]arrow.Array, len(r.columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	defer caught(&err)
	rows := r.parquet.MetaData().RowGroup(group).NumRows()
	for i, c := range r.columns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, err := r.column(ctx, group, c)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.field.Name, err)
		}
		fields[i], arrays[i] = c.field, a
		if int64(a.Len()) != rows {
			return nil, fmt.Errorf("column %q: %d values in %d rows", c.field.Name, a.Len(), rows)
		}
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
	if err := signal.CheckRecord(rec); err != nil {
		rec.Release()
		return nil, err
	}
	return rec, nil
}

func (r *Reader) column(ctx context.Context, group int, c readColumn) (arrow.Array, error) {
	groups := []int{group}
	column, err := r.arrow.GetFieldReader(ctx, c.index, map[int]bool{c.index: true}, groups)
	if err != nil {
		return nil, err
	}
	defer column.Release()
	chunked, err := r.arrow.ReadColumn(groups, column)
	if err != nil {
		return nil, err
	}
	defer chunked.Release()
	return joined(chunked, c.field.Type)
}

// caught turns a panic of the Parquet decoder, which trusts what it reads, into an error.
func caught(err *error) { //nolint:gocritic // a deferred call sets the result through it
	if p := recover(); p != nil {
		*err = fault.New(fault.Corrupt, "damaged data file: %v", p)
	}
}

// joined returns a chunked column as one array of the type, which has the same memory layout.
func joined(c *arrow.Chunked, typ arrow.DataType) (arrow.Array, error) {
	var whole arrow.Array
	if chunks := c.Chunks(); len(chunks) == 1 {
		whole = chunks[0]
		whole.Retain()
	} else {
		a, err := array.Concatenate(chunks, memory.DefaultAllocator)
		if err != nil {
			return nil, fmt.Errorf("join pages: %w", err)
		}
		whole = a
	}
	defer whole.Release()
	if ext, ok := whole.(array.ExtensionArray); ok {
		return retyped(ext.Storage(), typ)
	}
	return retyped(whole, typ)
}

// retyped returns an array as one of the type. JSON comes out of a file as bytes, which texts are.
func retyped(a arrow.Array, typ arrow.DataType) (arrow.Array, error) {
	switch {
	case arrow.TypeEqual(a.DataType(), typ):
		a.Retain()
		return a, nil
	case a.DataType().ID() == arrow.BINARY && typ.ID() == arrow.STRING:
		d := a.Data()
		data := array.NewData(typ, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
		defer data.Release()
		return array.MakeFromData(data), nil
	default:
		return nil, fault.New(fault.Corrupt, "type %s instead of %s", a.DataType(), typ)
	}
}

// Close closes the file.
func (r *Reader) Close() error {
	return errors.Join(r.parquet.Close(), ignoreClosed(r.f.Close()))
}

// ignoreClosed drops the complaint that the Parquet reader has closed the file already.
func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Checksum returns the checksum of a file's bytes in the form of Info.Checksum.
func Checksum(r io.Reader) (string, error) {
	sum := xxhash.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", fmt.Errorf("read for a checksum: %w", err)
	}
	return checksumText(sum.Sum64()), nil
}

func checksumText(sum uint64) string { return fmt.Sprintf("xxh64:%016x", sum) }

// timeField and nanosField are how the columns of ours come back.
func timeField() arrow.Field { return arrow.Field{Name: signal.TimeColumn, Type: signal.TimestampType} }

func nanosField() arrow.Field {
	return arrow.Field{Name: signal.NanosColumn, Type: arrow.PrimitiveTypes.Int16}
}
