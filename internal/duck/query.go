package duck

import (
	"context"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/fault"
)

// Rows is the streaming result of a Query. It is used by the goroutine that uses its Instance.
type Rows struct {
	instance *Instance
	prepared bindings.PreparedStatement
	pending  bindings.PendingResult
	result   bindings.Result
	columns  []column
	schema   *arrow.Schema
	err      error // what every further Next returns
}

// Query starts ONE select and returns as soon as its first rows are ready or it failed. The rest is computed while it is read, ahead of
// the reader by at most DuckDB's streaming buffer (1 MB). The instance runs nothing else until the Rows are closed.
//
// Errors: fault.Invalid for mistakes (a StatementError is in the chain; offsets refer to sql), for an exceeded memory or temporary disk
// limit and for a column whose type has no Arrow form (UNION, BIGNUM, GEOMETRY, VARIANT); the context's error when it ended.
func (i *Instance) Query(ctx context.Context, sql string) (*Rows, error) {
	if i.rows != nil {
		return nil, fault.New(fault.Internal, "query on an instance whose rows are still open")
	}
	r := &Rows{instance: i}
	err := i.call(ctx, func() error { return r.start(i.engine, sql) })
	if err != nil {
		r.free()
		return nil, err
	}
	i.rows = r
	return r, nil
}

func (r *Rows) start(e *engine, sql string) error {
	if strings.IndexByte(sql, 0) >= 0 {
		return fault.New(fault.Invalid, "statement contains a NUL character")
	}
	if bindings.Prepare(e.conn, sql, &r.prepared) == bindings.StateError {
		return e.fail(bindings.PrepareError(r.prepared))
	}
	if t := bindings.PreparedStatementType(r.prepared); t != bindings.StatementTypeSelect {
		return fault.New(fault.Invalid, "only SELECT statements are answered")
	}
	if bindings.NParams(r.prepared) > 0 {
		return fault.New(fault.Invalid, "the statement has parameters without values")
	}
	if bindings.PendingPreparedStreaming(r.prepared, &r.pending) == bindings.StateError {
		return e.fail(bindings.PendingError(r.pending))
	}
	if bindings.ExecutePending(r.pending, &r.result) == bindings.StateError {
		return e.fail(bindings.ResultError(&r.result))
	}
	return r.describe()
}

// describe reads names and types of the result's columns.
func (r *Rows) describe() error {
	n := int(bindings.ColumnCount(&r.result))
	fields := make([]arrow.Field, n)
	r.columns = make([]column, n)
	for c := range n {
		t := bindings.ColumnLogicalType(&r.result, bindings.IdxT(c))
		col, err := newColumn(t)
		bindings.DestroyLogicalType(&t)
		name := bindings.ColumnName(&r.result, bindings.IdxT(c))
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "column %q: %s", name, err)
		}
		r.columns[c] = col
		fields[c] = col.field(name)
	}
	r.schema = arrow.NewSchema(fields, nil)
	return nil
}

// Schema returns the result's columns in order; names may repeat. Every field, nested ones too, carries the DuckDB name of its type under
// the metadata key TypeKey.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// Next returns the next rows, at least one and at most 2048, or io.EOF at the end. The caller releases the batch; it does not share memory
// with the engine and survives Close. After an error every further call returns that error.
func (r *Rows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.err != nil {
		return nil, r.err
	}
	var batch arrow.RecordBatch
	err := r.instance.call(ctx, func() (err error) {
		batch, err = r.fetch()
		return err
	})
	if err != nil {
		if batch != nil {
			batch.Release()
		}
		r.err = err
		return nil, err
	}
	return batch, nil
}

func (r *Rows) fetch() (arrow.RecordBatch, error) {
	chunk := bindings.FetchChunk(r.result)
	defer bindings.DestroyDataChunk(&chunk)
	if chunk.Ptr == nil {
		if msg := bindings.ResultError(&r.result); msg != "" {
			return nil, r.instance.engine.fail(msg)
		}
		return nil, io.EOF
	}
	n := int(bindings.DataChunkGetSize(chunk))
	if n == 0 {
		return nil, io.EOF
	}
	cols := make([]arrow.Array, len(r.columns))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for c := range r.columns {
		data, err := r.columns[c].convert(bindings.DataChunkGetVector(chunk, bindings.IdxT(c)), n)
		if err != nil {
			return nil, err
		}
		cols[c] = array.MakeFromData(data)
		data.Release()
	}
	return array.NewRecordBatch(r.schema, cols, int64(n)), nil
}

// Close stops the statement and frees the result. It is idempotent and always returns nil.
func (r *Rows) Close() error {
	r.free()
	return nil
}

func (r *Rows) free() {
	bindings.DestroyResult(&r.result)
	bindings.DestroyPending(&r.pending)
	bindings.DestroyPrepare(&r.prepared)
	if r.err == nil {
		r.err = fault.New(fault.Internal, "rows are closed")
	}
	if r.instance.rows == r {
		r.instance.rows = nil
	}
}
