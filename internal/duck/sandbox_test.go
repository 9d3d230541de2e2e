package duck_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// escapes are statements that Query must refuse or that must find nothing. %s is a file outside of the org's directories.
var escapes = []string{
	"SELECT * FROM read_csv('%s')", "SELECT * FROM read_csv_auto('%s')", "SELECT * FROM read_text('%s')", "SELECT * FROM read_blob('%s')",
	"SELECT * FROM read_json('%s')", "SELECT * FROM read_ndjson_objects('%s')", "SELECT * FROM read_parquet('%s')",
	"SELECT * FROM parquet_metadata('%s')", "SELECT * FROM '%s'", "SELECT * FROM sniff_csv('%s')", "SELECT * FROM read_duckdb('%s')",
	"SELECT * FROM glob('%s')", "SELECT * FROM glob('/etc/*')", "SELECT * FROM read_text('/proc/self/environ')",
	"SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM query('SELECT * FROM read_text(''%s'')')",
	"SELECT * FROM 'https://example.com/x.parquet'", "SELECT * FROM 's3://bucket/x.parquet'", "SELECT * FROM read_csv('http://127.0.0.1:1/x')",
	"COPY (SELECT 1) TO '%s.out'", "COPY (SELECT 1) TO '%s.parquet' (FORMAT parquet)", "EXPORT DATABASE '%s.dir'",
	"IMPORT DATABASE '%s.dir'", "ATTACH '%s.db'", "ATTACH ':memory:' AS other", "DETACH memory", "USE memory",
	"INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL spatial FROM community", "UPDATE EXTENSIONS",
	"SET memory_limit='100GB'", "SET enable_external_access=true", "SET lock_configuration=false", "RESET lock_configuration",
	"SET VARIABLE x = 1", "SET threads=64", "SET GLOBAL temp_directory='/tmp'", "PRAGMA memory_limit='100GB'", "PRAGMA enable_profiling",
	"PRAGMA database_list", "PRAGMA version", "CALL pragma_version()", "CALL duckdb_settings()", "CHECKPOINT", "VACUUM", "ANALYZE",
	"CREATE TABLE t (a INT)", "CREATE TEMP TABLE t (a INT)", "CREATE VIEW v AS SELECT 1", "CREATE MACRO f() AS 1", "CREATE SCHEMA s",
	"CREATE SEQUENCE q", "CREATE TYPE e AS ENUM ('a')", "CREATE SECRET (TYPE s3)", "CREATE OR REPLACE MACRO ms_guard_text(a) AS a",
	"DROP MACRO ms_repeat", "INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "ALTER TABLE t ADD COLUMN b INT",
	"PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE p", "BEGIN", "COMMIT", "ROLLBACK", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1",
	"SELECT getenv('HOME')", "SELECT 1; SELECT 2", "SELECT 1; DROP MACRO ms_repeat", "COMMENT ON TABLE t IS 'x'",
	"SELECT * FROM sqlite_scan('%s', 't')", "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')",
	"SELECT * FROM enable_logging()", "SELECT nextval('q')",
}

func TestSandboxRefuses(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("the secret of another org"), 0o600))
	mine := t.TempDir()
	p := newPool(t, func(o *duck.Options) { o.DataDirs = func(tenant.ID) []string { return []string{mine} } })
	for _, sql := range escapes {
		sql = strings.ReplaceAll(sql, "%s", outside)
		i := acquire(t, p, "a") // released below, or with the test
		cells, _, err := read(t.Context(), i, sql)
		if err == nil && strings.HasPrefix(sql, "PRAGMA ") {
			i.Release()
			continue // some are selects over the instance's own catalog; sqlplan's walk refuses them
		}
		if err == nil {
			require.Empty(t, cells, sql)
		} else {
			require.NotContains(t, fault.Message(err), p.TempDir(), sql)
			require.NotContains(t, fault.Message(err), "secret of another", sql)
		}
		require.Equal(t, []string{"1"}, readOne(t, i, "SELECT 1"), "after %s", sql)
		i.Release()
	}
	entries, err := os.ReadDir(filepath.Dir(outside))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestSandboxReadsItsOwnDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newPool(t, func(o *duck.Options) {
		o.DataDirs = func(org tenant.ID) []string { return []string{filepath.Join(root, string(org))} }
	})
	for _, org := range []string{"a", "ab", "*"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, org), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, org, "x.json"), []byte(`{"org":"`+org+`"}`), 0o600))
	}
	i := acquire(t, p, "a")
	own := "SELECT org FROM read_json('" + filepath.Join(root, "a", "x.json") + "')"
	require.Equal(t, []string{"a"}, readOne(t, i, own))
	require.NoError(t, i.Exec(t.Context(), "CREATE TEMP VIEW v AS "+own))
	require.Equal(t, []string{"a"}, readOne(t, i, "SELECT * FROM v"))
	for _, path := range []string{"ab/x.json", "a/../ab/x.json", "a/./../ab/x.json"} {
		_, _, err := read(t.Context(), i, "SELECT * FROM read_text('"+root+"/"+path+"')")
		require.Error(t, err, path)
		require.NotContains(t, fault.Message(err), root)
	}
	// A star in the org's id is a star of its path and not a pattern.
	star := acquire(t, p, "*")
	path := duck.PatternPath(filepath.Join(root, "*", "x.json"))
	require.Equal(t, []string{"*"}, readOne(t, star, "SELECT org FROM read_json('"+path+"')"))
	star.Release()
	_, _, err := read(t.Context(), i, "SELECT * FROM read_json('"+filepath.Join(root, "a", "gone.json")+"')")
	require.Error(t, err)
	require.NotContains(t, fault.Message(err), root)
}

func TestInstancesOfTwoOrgsNeverShare(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil)
	i := acquire(t, p, "a")
	require.NoError(t, i.Exec(t.Context(), "CREATE TEMP TABLE secret AS SELECT 42 AS v"))
	require.NoError(t, i.Exec(t.Context(), "CREATE TABLE kept AS SELECT 43 AS v"))
	require.NoError(t, i.Exec(t.Context(), "SET VARIABLE x = 44"))
	i.Release()
	for _, org := range []tenant.ID{"a", "b"} {
		j := acquire(t, p, org)
		for _, table := range []string{"secret", "kept"} {
			_, _, err := read(t.Context(), j, "SELECT v FROM "+table)
			require.True(t, fault.Is(err, fault.Invalid), "%s in %s", table, org)
		}
		require.Equal(t, []string{"(null)"}, readOne(t, j, "SELECT getvariable('x')"))
		j.Release()
	}
}
