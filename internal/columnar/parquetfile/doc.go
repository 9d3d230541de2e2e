// Package parquetfile writes Apache Parquet files for package columnar: flat columns, one page a column chunk, statistics that
// DuckDB prunes by.
//
// It exists because the general writers spend most of their time where our files need nothing: levels of nesting, one hash and
// one comparison a value and page, per-value interfaces (docs/adr/0005-parquet-layout.md has the figures). What it writes is plain
// Parquet 2 and is read by any Parquet reader; the tests read every file back with arrow-go and DuckDB.
//
// A Writer is used by one goroutine. It keeps the footer and one encoded row group in memory, no more. The package knows nothing
// of streams, catalogs or Arrow.
package parquetfile
