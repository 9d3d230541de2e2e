package hostile_test

import (
	"fmt"
	"path/filepath"
)

// statements are SQL that tries to leave the org: other orgs' names, files, the engine's own tables and settings, and wrappings of all.
func (w *world) statements() []string {
	data := w.server.DataDir
	tables := []string{
		"app", "logs.app", "public.logs.app", "beta.logs.app", "beta.public.logs.app", `"../beta".logs.app`, `"beta|alpha".logs.app`,
		nameB + ".logs.inner", `"` + nameB + `"`, `"beta/1/1.parquet"`, "information_schema.tables", "duckdb_settings()", "duckdb_views()",
		"duckdb_tables()", "pg_catalog.pg_tables",
		"sqlite_master", "ms_t0", "ms_fresh_1", "glob('**')", "glob('/**')", fmt.Sprintf("glob('%s/**')", data),
		fmt.Sprintf("read_parquet('%s/objects/beta/**')", data), fmt.Sprintf("read_parquet('%s/objects/alpha/../beta/**')", data),
		fmt.Sprintf("read_text('%s')", filepath.Join(data, "catalog.db")), fmt.Sprintf("read_blob('%s/wal/*')", data), "read_csv('/etc/passwd')",
		fmt.Sprintf("sqlite_scan('%s', 'tokens')", filepath.Join(data, "catalog.db")), "parquet_metadata('**/*.parquet')", "query('SELECT 1')",
		"query_table('beta')", "which_secret('s3://x', 's3')",
	}
	for _, file := range w.files {
		tables = append(tables, fmt.Sprintf("read_parquet('%s')", file), fmt.Sprintf("'%s'", file), fmt.Sprintf(`"%s"`, file),
			fmt.Sprintf("read_text('%s')", file))
	}
	var out []string
	for i, table := range tables {
		wrap := []string{
			"SELECT * FROM %s", "WITH app AS (SELECT * FROM %s) SELECT * FROM app", "SELECT (SELECT to_json(x) FROM %s x LIMIT 1)",
			"SELECT * FROM app UNION ALL BY NAME SELECT * FROM %s", "SUMMARIZE SELECT * FROM %s", "FROM %s SELECT *",
			"SELECT * FROM app WHERE EXISTS (FROM %s)", "SELECT a.* FROM app a LEFT JOIN LATERAL (SELECT * FROM %s) b ON true",
		}
		out = append(out, fmt.Sprintf(wrap[0], table), fmt.Sprintf(wrap[1+i%(len(wrap)-1)], table))
	}
	return append(out,
		"SELECT * FROM app WHERE __tenant_id__ = 'beta'", "SELECT getenv('MS_CIPHER_KEY')", "SELECT current_setting('temp_directory')",
		"SELECT * FROM app; SELECT * FROM beta.logs.app",
		"ATTACH '"+filepath.Join(data, "catalog.db")+"' AS c (TYPE sqlite)", "PRAGMA database_list",
		"SET file_search_path = '"+data+"'", "COPY app TO '"+filepath.Join(data, "objects", "beta", "x.parquet")+"'", "INSTALL httpfs",
		"LOAD httpfs",
		"EXPORT DATABASE '"+data+"'", "CREATE MACRO app() AS TABLE SELECT 1", "CREATE VIEW app AS SELECT 1", "DROP DATABASE "+nameB,
		"DROP DATABASE IF EXISTS beta", "ALTER DATABASE "+nameB+" SET 'retention'='1s'", "ALTER STREAM beta.logs.app SET 'retention'='1s'",
		"SHOW STREAMS FROM beta", "SHOW STREAMS FROM "+nameB, "SHOW CREATE DATABASE "+nameB, "DESCRIBE beta.logs.app", "SHOW DATABASES LIKE '%'",
		"SHOW TABLES", "SHOW ALL TABLES", "EXPLAIN ANALYZE SELECT * FROM app",
		"CALL pragma_version()", "USE beta", "DELETE FROM app",
		"UPDATE app SET message = ''",
		"INSERT INTO app VALUES (1)", "SELECT * FROM app AS OF TIMESTAMP '2020-01-01'", "SELECT nextval('x')",
		"SELECT * FROM (VALUES (1)) t, beta.logs.app",
		"SELECT error('"+beta+"')", "SELECT * FROM app ORDER BY (SELECT message FROM beta.logs.app LIMIT 1)", "",
	)
}
