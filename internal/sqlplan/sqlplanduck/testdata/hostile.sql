# Statements that must be refused before anything runs: one a line. A line that begins with # is a comment.
# Files and the network
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_csv_auto('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM read_json('/etc/passwd')
SELECT * FROM read_json_auto('x.json')
SELECT * FROM read_json_objects('x.json')
SELECT * FROM read_ndjson('x.json')
SELECT * FROM read_parquet('/data/other/x.parquet')
SELECT * FROM parquet_scan('/data/other/x.parquet')
SELECT * FROM parquet_metadata('x.parquet')
SELECT * FROM parquet_schema('x.parquet')
SELECT * FROM parquet_file_metadata('x.parquet')
SELECT * FROM parquet_kv_metadata('x.parquet')
SELECT * FROM parquet_bloom_probe('x.parquet', 'a', 1)
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM glob('/etc/*')
SELECT * FROM 'file.parquet'
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
SELECT * FROM 's3://bucket/other/x.parquet'
SELECT * FROM 'https://example.com/x.csv'
SELECT * FROM 'x.csv' AS nginx
FROM 'data/*.parquet'
SELECT * FROM nginx, 'other.json'
SELECT * FROM nginx JOIN '/etc/passwd' p ON true
SELECT * FROM s3.bucket.x
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM arrow_scan_dumb(1, 2, 3)
SELECT * FROM pandas_scan(1)
SELECT * FROM python_map_function(1)
SELECT * FROM seq_scan('nginx')
SELECT * FROM index_scan('nginx')
SELECT * FROM df
SELECT * FROM globals
SELECT read_text('/etc/passwd')
SELECT content FROM read_text(['/etc/passwd', '/etc/group'])
SELECT write_log('x')
SELECT * FROM which_secret('s3://x', 's3')
SELECT * FROM read_duckdb('x.db')
SELECT * FROM read_csv('/etc/passwd', header = true, columns = {'a': 'VARCHAR'})
# Other statements
COPY nginx TO '/tmp/x.csv'
COPY (SELECT 1) TO '/tmp/x'
COPY nginx FROM '/etc/passwd'
ATTACH '/tmp/x.db' AS x
ATTACH ':memory:' AS x
DETACH memory
USE memory
INSTALL httpfs
LOAD httpfs
FORCE INSTALL httpfs FROM 'http://example.com'
SET memory_limit = '1TB'
SET GLOBAL enable_external_access = true
SET VARIABLE x = 1
RESET memory_limit
PRAGMA database_list
PRAGMA version
PRAGMA enable_profiling
CALL pragma_version()
CREATE TABLE x AS SELECT 1
CREATE VIEW x AS SELECT 1
CREATE MACRO x() AS 1
CREATE OR REPLACE MACRO lower(x) AS 'owned'
CREATE SECRET x (TYPE s3)
CREATE TYPE t AS ENUM ('a')
CREATE SCHEMA x
CREATE SEQUENCE s
INSERT INTO nginx VALUES (1)
UPDATE nginx SET level = 'x'
DELETE FROM nginx
TRUNCATE nginx
MERGE INTO nginx USING spans ON true WHEN MATCHED THEN DELETE
DROP TABLE nginx
DROP VIEW ms_t0
ALTER TABLE nginx ADD COLUMN x INT
EXPORT DATABASE '/tmp/x'
IMPORT DATABASE '/tmp/x'
BEGIN
COMMIT
CHECKPOINT
VACUUM
ANALYZE
EXPLAIN SELECT 1
EXPLAIN ANALYZE SELECT 1
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
COMMENT ON TABLE nginx IS 'x'
UPDATE EXTENSIONS
KILL 1
# Two statements in one text
SELECT 1; SELECT 2
SELECT 1; DROP TABLE nginx
SELECT 1;; SELECT 2
SELECT 1; COPY (SELECT 1) TO '/tmp/x'
SHOW STREAMS; SELECT 1
DESCRIBE nginx; SET threads = 1
DROP DATABASE x; SELECT 1
SELECT 1 /* ; */ ; /* */ SELECT 2
;
-- nothing
/* nothing */
# Comments inside keywords and odd spellings
SEL/**/ECT 1
CO/**/PY nginx TO 'x'
/* SELECT */ COPY nginx TO 'x'
-- SELECT 1
SELECT * FROM read_/**/csv('/etc/passwd')
SELECT * FROM read_csv/**/('/etc/passwd')
SELECT * FROM READ_CSV('/etc/passwd')
SELECT * FROM "read_csv"('/etc/passwd')
SELECT * FROM "ReAd_CsV"('/etc/passwd')
/* unterminated SELECT 1
SELECT 'unterminated
# The engine's own environment, settings and catalogs
SELECT getenv('HOME')
SELECT "getenv"('HOME')
SELECT GETENV('HOME')
SELECT main.getenv('HOME')
SELECT system.main.getenv('HOME')
SELECT pg_catalog.getenv('HOME')
SELECT 'HOME'.getenv()
SELECT level.getenv() FROM nginx
SELECT current_setting('memory_limit')
SELECT version()
SELECT pg_catalog.version()
SELECT current_user
SELECT current_schema
SELECT current_database()
SELECT current_schemas(true)
SELECT current_query()
SELECT current_role
SELECT session_user
SELECT getvariable('x')
SELECT txid_current()
SELECT nextval('s')
SELECT currval('s')
SELECT pg_typeof(1)
SELECT in_search_path('a', 'b')
SELECT set_config('a', 'b', false)
SELECT add_parquet_key('a', 'b')
SELECT get_block_size('x')
SELECT sleep_ms(1000)
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_tables
SELECT * FROM duckdb_views()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_extensions()
SELECT * FROM duckdb_functions()
SELECT * FROM duckdb_temporary_files()
SELECT * FROM duckdb_logs
SELECT * FROM duckdb_logs()
SELECT * FROM duckdb_variables()
SELECT * FROM pragma_table_info('ms_t0')
SELECT * FROM pragma_database_list()
SELECT * FROM pragma_storage_info('ms_t0')
SELECT * FROM information_schema.tables
SELECT * FROM information_schema.columns
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM pg_tables
SELECT * FROM pg_class
SELECT * FROM sqlite_master
SELECT * FROM sqlite_schema
SELECT * FROM main.nginx
SELECT * FROM memory.main.nginx
SELECT * FROM temp.main.ms_t0
SELECT * FROM temp.ms_t0
SELECT * FROM temp.information_schema.tables
SELECT * FROM system.information_schema.tables
SELECT * FROM system.main.duckdb_tables
SELECT * FROM ms_t0
SELECT * FROM ms_t1
SELECT * FROM nginx, ms_t0
SELECT * FROM nginx AS ms_t1, ms_t1
SELECT * FROM ms_c0
WITH a AS (SELECT 1) SELECT * FROM ms_c0
SELECT * FROM main.ms_t0
SELECT * FROM otherorg.nginx
SELECT * FROM otherorg.logs.nginx
SELECT * FROM a.b.c.d
SHOW TABLES FROM
SHOW ALL TABLES
SHOW VARIABLES
SHOW x
SELECT * FROM (SHOW TABLES)
SELECT * FROM (SHOW ALL TABLES)
SELECT * FROM (SHOW DATABASES)
SELECT * FROM show_tables()
# SQL in text
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('nginx')
SELECT * FROM query_table(['nginx', 'spans'])
SELECT * FROM json_execute_serialized_sql('{}')
SELECT json_serialize_sql('SELECT 1')
SELECT json_deserialize_sql('{}')
SELECT json_serialize_plan('SELECT 1')
SELECT parse_path('/etc/passwd')
SELECT parse_duckdb_log_message('a', 'b')
SELECT * FROM sql_auto_complete('SEL')
SELECT * FROM test_all_types()
SELECT * FROM repeat(1, 10)
SELECT * FROM repeat_row(1, 2, num_rows = 3)
SELECT * FROM summary((SELECT 1))
SELECT * FROM checkpoint()
SELECT * FROM force_checkpoint()
# Hidden in other places
WITH x AS (SELECT * FROM read_csv('/etc/passwd')) SELECT 1
WITH x AS MATERIALIZED (SELECT getenv('HOME') AS h) SELECT * FROM x
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x, read_text('/etc/passwd')) SELECT * FROM x
WITH RECURSIVE x(n) AS (SELECT getenv('HOME') UNION ALL SELECT n FROM x) SELECT * FROM x
WITH nginx AS (SELECT 1) SELECT * FROM nginx, information_schema.tables
WITH pg_class AS (SELECT 1 AS a) SELECT * FROM pg_class JOIN pg_catalog.pg_class ON true
SELECT (SELECT content FROM read_text('/etc/passwd'))
SELECT 1 WHERE EXISTS (FROM read_text('/etc/passwd'))
SELECT 1 WHERE 'x' IN (SELECT content FROM read_text('/etc/passwd'))
SELECT 1 WHERE 'x' = ANY (SELECT getenv('HOME'))
SELECT * FROM nginx, LATERAL (SELECT getenv(nginx.level)) l
SELECT * FROM (SELECT * FROM (SELECT * FROM glob('*')))
SELECT * FROM nginx JOIN spans ON getenv('HOME') = nginx.level
SELECT * FROM nginx ORDER BY getenv('HOME')
SELECT * FROM nginx GROUP BY getenv('HOME')
SELECT level, count(*) FROM nginx GROUP BY level HAVING getenv('HOME') <> ''
SELECT * FROM nginx LIMIT (SELECT length(getenv('HOME')))
SELECT * FROM nginx LIMIT 1 OFFSET length(getenv('HOME'))
SELECT DISTINCT ON (getenv('HOME')) level FROM nginx
SELECT count(*) FILTER (WHERE getenv('HOME') = '') FROM nginx
SELECT string_agg(level, ',' ORDER BY getenv('HOME')) FROM nginx
SELECT sum(status) OVER (PARTITION BY getenv('HOME')) FROM nginx
SELECT sum(status) OVER (ORDER BY getenv('HOME')) FROM nginx
SELECT lag(status, length(getenv('HOME'))) OVER () FROM nginx
SELECT sum(status) OVER (ROWS BETWEEN length(getenv('x')) PRECEDING AND CURRENT ROW) FROM nginx
SELECT level FROM nginx QUALIFY getenv('HOME') = ''
SELECT row_number() OVER w FROM nginx WINDOW w AS (ORDER BY getenv('x'))
SELECT CASE WHEN true THEN getenv('HOME') END
SELECT CASE getenv('HOME') WHEN '' THEN 1 END
SELECT [getenv('HOME')]
SELECT {'a': getenv('HOME')}
SELECT MAP {'a': getenv('HOME')}
SELECT {'a': getenv('HOME')}.a
SELECT [getenv(x) FOR x IN ['HOME']]
SELECT list_transform(['HOME'], x -> getenv(x))
SELECT list_transform(['HOME'], lambda x: getenv(x))
SELECT list_filter(['HOME'], x -> getenv(x) = '')
SELECT list_reduce(['a'], (x, y) -> getenv(x))
SELECT apply(['HOME'], x -> getenv(x))
SELECT COLUMNS(c -> getenv(c) = '') FROM nginx
SELECT COLUMNS(lambda c: getenv(c) = '') FROM nginx
SELECT * REPLACE (getenv('HOME') AS level) FROM nginx
SELECT min(COLUMNS(c -> getenv('x') = c)) FROM nginx
SELECT unnest([getenv('HOME')])
SELECT * FROM unnest([getenv('HOME')])
SELECT * FROM range(length(getenv('HOME')))
SELECT getenv('HOME')::VARCHAR
SELECT TRY_CAST(getenv('HOME') AS INTEGER)
SELECT getenv('HOME') COLLATE NOCASE
SELECT getenv('HOME') IS NULL
SELECT NOT getenv('HOME')
SELECT coalesce(NULL, getenv('HOME'))
SELECT nullif(getenv('HOME'), 'x')
SELECT try(getenv('HOME'))
SELECT 1 BETWEEN 0 AND length(getenv('HOME'))
SELECT 1 IN (1, length(getenv('HOME')))
SELECT (VALUES (getenv('HOME')))
VALUES (getenv('HOME'))
SELECT * FROM (VALUES (getenv('HOME'))) v(x)
SELECT 1 UNION ALL SELECT getenv('HOME')
SELECT 1 EXCEPT SELECT length(getenv('HOME'))
FROM read_csv('/etc/passwd') SELECT 1
SELECT * FROM nginx PIVOT (max(getenv(level)) FOR host IN ('a'))
PIVOT nginx ON level USING count(*)
PIVOT nginx ON level IN ('a') USING max(getenv('HOME'))
PIVOT read_text('/etc/passwd') ON content IN ('a') USING count(*)
SELECT * FROM nginx PIVOT (count(*) FOR level IN someenum)
UNPIVOT (SELECT getenv('HOME') AS a) ON a
SUMMARIZE read_csv('/etc/passwd')
SUMMARIZE SELECT getenv('HOME')
SUMMARIZE '/etc/passwd'
DESCRIBE SELECT * FROM read_csv('/etc/passwd')
DESCRIBE '/etc/passwd'
SELECT * FROM nginx TABLESAMPLE 10% WHERE getenv('x') = ''
SELECT match(level, getenv('HOME')) FROM nginx
SELECT match(level) FROM nginx
SELECT match(level, '') FROM nginx
SELECT match(match(level, 'a b'), 'true') FROM nginx
# Parameters, positions and other syntax without a meaning here
SELECT $1
SELECT ?
SELECT $name
SELECT #1 FROM nginx
SELECT * FROM nginx AS n(a, b)
SELECT * FROM nginx AT (VERSION => 1)
SELECT 1::getenv
SELECT 1::INET
SELECT 'x'::GEOMETRY
SELECT NULL::ENUM('a')
SELECT 'a'::main.t
SELECT DEFAULT
SELECT 5!
SELECT 'a' GLOB '*'
SELECT list_resize([1], 1000000000)
SELECT bitstring('0', 1000000000)
SELECT * FROM nginx POSITIONAL JOIN getenv('x')
