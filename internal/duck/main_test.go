package duck_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPool returns a pool that is closed with the test.
func newPool(t *testing.T, change func(o *duck.Options)) *duck.Pool {
	t.Helper()
	opts := duck.Options{Concurrency: 2, WarmInstances: 2, MemoryLimit: 1 << 30, TempDir: t.TempDir(), TempMaxSize: 1 << 30, Threads: 2}
	if change != nil {
		change(&opts)
	}
	p, err := duck.NewPool(opts, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// acquire returns an instance that is released with the test, before its pool is closed.
func acquire(t *testing.T, p *duck.Pool, org tenant.ID) *duck.Instance {
	t.Helper()
	i, err := p.Acquire(t.Context(), org)
	require.NoError(t, err)
	t.Cleanup(i.Release)
	return i
}

// read runs sql and returns its cells as Arrow prints them, and the result's schema.
func read(ctx context.Context, i *duck.Instance, sql string) (cells [][]string, schema *arrow.Schema, err error) {
	rows, err := i.Query(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return cells, rows.Schema(), nil
		}
		if err != nil {
			return nil, nil, err
		}
		for r := range int(b.NumRows()) {
			var row []string
			for _, col := range b.Columns() {
				row = append(row, cellText(col, r))
			}
			cells = append(cells, row)
		}
		b.Release()
	}
}

// cellText is Arrow's text of a value, except that decimals without fraction keep all digits.
func cellText(col arrow.Array, i int) string {
	if d, ok := col.(*array.Decimal128); ok && d.IsValid(i) && d.DataType().(*arrow.Decimal128Type).Scale == 0 {
		return d.Value(i).BigInt().String()
	}
	return col.ValueStr(i)
}

// readOne returns the cells of a result of one row.
func readOne(t *testing.T, i *duck.Instance, sql string) []string {
	t.Helper()
	cells, _, err := read(t.Context(), i, sql)
	require.NoError(t, err, sql)
	require.Len(t, cells, 1, sql)
	return cells[0]
}
