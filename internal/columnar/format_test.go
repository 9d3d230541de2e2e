package columnar_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/columnar"
)

// fixtureRows are the rows of the fixtures in testdata, in the order of the files.
func fixtureRows() []row {
	var rows []row
	for i := range 20 {
		r := row{time: 1_764_500_400_000_000 + int64(i), nanos: int16(i % 3), fields: map[string]value{
			"message": fmt.Sprintf("request %d took 🙂", i), "level": "info", "status": int64(200 + i%2),
		}}
		switch i % 4 {
		case 0:
			r.fields["mixed"] = int64(i)
		case 1:
			r.fields["mixed"] = fmt.Sprint(i)
		case 2:
			r.fields["mixed"] = true
			r.fields["payload"] = jsonText(`{"a":[1,2]}`)
		case 3:
			r.fields["ratio"] = bits(math.Float64bits(float64(i) / 8))
			r.fields["seen"] = micros(i)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestFixtures reads files that older programs wrote. A new format adds a file and keeps these.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, format := range columnar.Formats() {
		require.Equal(t, fixtureRows(), readAll(t, filepath.Join("testdata", fmt.Sprintf("v%d.parquet", format)), nil))
	}
}

// TestWritableFixture keeps the writer at the format it claims: a file of the same rows reads the same as the fixture.
func TestWritableFixture(t *testing.T) {
	t.Parallel()
	var cols columns
	for _, n := range []string{"message", "level", "status", "mixed", "payload", "ratio", "seen"} {
		cols.lookup(n)
	}
	path := filepath.Join(t.TempDir(), "f.parquet")
	info, err := columnar.WriteFile(t.Context(), path, columnar.Split([]arrow.RecordBatch{record(fixtureRows())})[0], cols.lookup,
		columnar.WriteOptions{Segment: 1, RowGroupRows: 8})
	require.NoError(t, err)
	require.Equal(t, columnar.Writable, info.Format)
	require.Equal(t, fixtureRows(), readAll(t, path, cols.name))
}
