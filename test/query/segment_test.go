package query_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// segmentFile writes a record as one file of segment 3 and returns its path and an engine that may read it.
func segmentFile(t *testing.T, r arrow.RecordBatch, groupRows int) (string, *duck.Instance) {
	t.Helper()
	dir := t.TempDir()
	pool, err := duck.NewPool(duck.Options{
		Concurrency: 1, MemoryLimit: 256 << 20, TempDir: filepath.Join(dir, "temp"),
		DataDirs: func(tenant.ID) []string { return []string{dir} },
	}, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	instance, err := pool.Acquire(t.Context(), "acme")
	require.NoError(t, err)
	t.Cleanup(instance.Release)
	ids := map[string]catalog.ColumnID{}
	lookup := func(name string) (catalog.Column, bool) {
		if ids[name] == 0 {
			ids[name] = catalog.ColumnID(len(ids) + 1)
		}
		return catalog.Column{ID: ids[name], Name: name, Physical: name}, true
	}
	path := filepath.Join(dir, "s.parquet")
	_, err = columnar.WriteFile(t.Context(), path, columnar.Split([]arrow.RecordBatch{r})[0], lookup,
		columnar.WriteOptions{Segment: 3, RowGroupRows: groupRows})
	require.NoError(t, err)
	return path, instance
}

// cells runs a statement over a file and returns its rows, cells joined by |.
func cells(t *testing.T, i *duck.Instance, statement, path string) []string {
	t.Helper()
	out, err := tryCells(t, i, statement, path)
	require.NoError(t, err, statement)
	return out
}

func tryCells(t *testing.T, i *duck.Instance, statement, path string) ([]string, error) {
	t.Helper()
	rows, err := i.Query(t.Context(), strings.ReplaceAll(statement, "$file", "'"+path+"'"))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // always nil
	var out []string
	for {
		b, err := rows.Next(t.Context())
		if err != nil {
			if strings.Contains(err.Error(), "EOF") {
				return out, nil
			}
			return out, err
		}
		for r := range int(b.NumRows()) {
			var line []string
			for _, c := range b.Columns() {
				line = append(line, c.ValueStr(r))
			}
			out = append(out, strings.Join(line, "|"))
		}
		b.Release()
	}
}

// TestEngineReadsSegments holds the engine's reading of every type and encoding against what was written.
func TestEngineReadsSegments(t *testing.T) {
	t.Parallel()
	b := signal.NewBuilder()
	const rows = 3000
	for i := range rows {
		b.BeginRow()
		b.SetInt64(b.OwnColumn("rising"), int64(i)*3)
		b.SetInt64(b.OwnColumn("few"), int64(i%3)-1)
		b.SetInt64(b.OwnColumn("wild"), int64(i)*math.MinInt64/rows+int64(i*7919))
		b.SetFloat64(b.OwnColumn("ratio"), math.Sqrt(float64(i)))
		b.SetBool(b.OwnColumn("flag"), i%7 == 0)
		b.SetString(b.OwnColumn("word"), fmt.Appendf(nil, "w%d", i%11))
		b.SetString(b.OwnColumn("text"), fmt.Appendf(nil, "%d 🙂 %s", i, strings.Repeat("x", i%50)))
		b.SetString(b.OwnColumn("hex"), fmt.Appendf(nil, "%016x", uint64(i)*0x9e3779b97f4a7c15))
		b.SetJSON(b.OwnColumn("json"), fmt.Appendf(nil, `{"n":%d}`, i))
		b.SetTimestamp(b.OwnColumn("when"), int64(i)-1500)
		if i%10 == 0 {
			b.SetInt64(b.OwnColumn("rare"), int64(i))
		}
		if i%2 == 0 {
			b.SetString(b.OwnColumn("mixed"), fmt.Append(nil, i))
		} else {
			b.SetInt64(b.OwnColumn("mixed"), int64(i))
		}
		b.EndRow(now.UnixNano() + int64(i)*1001)
	}
	path, engine := segmentFile(t, b.Finish(), 700)
	require.Equal(t, []string{
		"_timestamp|TIMESTAMP WITH TIME ZONE", "_timestamp_nanos|SMALLINT", "_block|BIGINT", "rising|BIGINT", "few|BIGINT", "wild|BIGINT",
		"ratio|DOUBLE", "flag|BOOLEAN", "word|VARCHAR", "text|VARCHAR", "hex|VARCHAR", "json|JSON", "when|TIMESTAMP WITH TIME ZONE",
		"rare|BIGINT", "mixed|BIGINT", "_v.string.mixed|VARCHAR",
	}, cells(t, engine, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet($file))", path))
	const wrong = `SELECT count(*) FROM (SELECT *, rising // 3 AS i FROM read_parquet($file)) WHERE NOT (
		few = i % 3 - 1 AND ratio = sqrt(i::DOUBLE) AND flag = (i % 7 = 0) AND word = 'w' || (i % 11) AND
		text = i || ' 🙂 ' || repeat('x', (i % 50)::BIGINT) AND (json->>'n') = i::VARCHAR AND epoch_us("when") = i - 1500 AND
		rare IS NOT DISTINCT FROM (CASE WHEN i % 10 = 0 THEN i END) AND length(hex) = 16 AND _block = 3 << 20 | i // 700 AND
		epoch_us(_timestamp) = 1796040000000000 + i * 1001 // 1000 AND _timestamp_nanos = i * 1001 % 1000 AND
		coalesce(mixed, "_v.string.mixed"::BIGINT) = i)`
	require.Equal(t, []string{"0"}, cells(t, engine, wrong, path))
	require.Equal(t, []string{"3000|3000"}, cells(t, engine, "SELECT count(*), count(DISTINCT wild) FROM read_parquet($file)", path))
	require.Equal(t, []string{"5|0|8997"}, cells(t, engine, "SELECT count(*), min(stats_min_value::BIGINT), max(stats_max_value::BIGINT) "+
		"FROM parquet_metadata($file) WHERE path_in_schema = 'rising'", path))
}

// TestStatisticsSpareRowGroups damages the pages of one row group: statements that statistics keep away from it never notice.
func TestStatisticsSpareRowGroups(t *testing.T) {
	t.Parallel()
	b := signal.NewBuilder()
	long := strings.Repeat("ä", 60)
	for i := range 4000 {
		b.BeginRow()
		b.SetInt64(b.OwnColumn("n"), int64(i))
		b.SetString(b.OwnColumn("s"), fmt.Appendf(nil, "%c%s%04d", 'a'+i/1000, long, i))
		f := float64(i)
		if i == 3999 {
			f = math.NaN()
		}
		b.SetFloat64(b.OwnColumn("f"), f)
		b.EndRow(now.UnixNano() + int64(i)*1000)
	}
	path, engine := segmentFile(t, b.Finish(), 1000)
	require.Equal(t, []string{"1000"}, cells(t, engine, "SELECT count(n) FROM read_parquet($file) WHERE f >= 3000", path), "NaN is above all")
	damage(t, path, 2)
	for statement, want := range map[string]string{
		"SELECT sum(n) FROM read_parquet($file) WHERE _block IN (3 << 20, 3 << 20 | 3)":                  "3999000",
		"SELECT sum(n) FROM read_parquet($file) WHERE n < 1500":                                          "1124250",
		"SELECT count(s) FROM read_parquet($file) WHERE s < 'bz'":                                        "1000",
		"SELECT count(s) FROM read_parquet($file) WHERE s > 'cé'":                                        "1000",
		"SELECT count(n) FROM read_parquet($file) WHERE f < 2000":                                        "2000",
		"SELECT count(n) FROM read_parquet($file) WHERE _timestamp < make_timestamptz(1796040000002000)": "2000",
	} {
		require.Equal(t, []string{want}, cells(t, engine, statement, path), statement)
	}
	_, err := tryCells(t, engine, "SELECT sum(n), max(s), sum(f) FROM read_parquet($file)", path)
	require.Error(t, err)
}

// damage overwrites the pages of one row group.
func damage(t *testing.T, path string, group int) {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	g := r.MetaData().RowGroup(group)
	for i := range g.NumColumns() {
		c, err := g.ColumnChunk(i)
		require.NoError(t, err)
		start := c.DataPageOffset()
		if c.HasDictionaryPage() {
			start = c.DictionaryPageOffset()
		}
		copy(data[start:], bytes.Repeat([]byte{0xff}, int(c.TotalCompressedSize())))
	}
	require.NoError(t, r.Close())
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
