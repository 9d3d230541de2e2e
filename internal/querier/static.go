package querier

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/duck"
)

// static is a finished result of texts.
type static struct {
	schema *arrow.Schema
	batch  arrow.RecordBatch // nil when there are no rows left
}

// newStatic returns a result with the columns and rows.
func newStatic(columns []string, cells [][]string) *static {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c, Type: arrow.BinaryTypes.String, Metadata: arrow.NewMetadata([]string{duck.TypeKey}, []string{"VARCHAR"})}
	}
	s := &static{schema: arrow.NewSchema(fields, nil)}
	if len(cells) == 0 {
		return s
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema)
	defer b.Release()
	for _, row := range cells {
		for i, v := range row {
			b.Field(i).(*array.StringBuilder).Append(v) //nolint:forcetypeassert // made above
		}
	}
	s.batch = b.NewRecordBatch()
	return s
}

// newAffected returns the answer to a statement that changed n things.
func newAffected(n int64) *static {
	return newNumber("affected_rows", n)
}

// Schema implements rows.
func (s *static) Schema() *arrow.Schema { return s.schema }

// Next implements rows.
func (s *static) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if s.batch == nil {
		return nil, io.EOF
	}
	b := s.batch
	s.batch = nil
	return b, nil
}

// Close implements rows.
func (s *static) Close() error {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
	return nil
}
