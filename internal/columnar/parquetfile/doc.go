// Package parquetfile writes Apache Parquet files for package columnar, and reads those that it wrote: flat columns, pages of one
// column chunk, statistics that DuckDB prunes by.
//
// It exists because the general writers and readers spend most of their time where our files need nothing: levels of nesting, one hash and
// one comparison a value and page, per-value interfaces, metadata as trees of objects (docs/adr/0005-parquet-layout.md has the
// figures). What it writes is plain Parquet 2 and is read by any Parquet reader; the tests read every file back with arrow-go and
// DuckDB.
//
// A Writer is used by one goroutine. It keeps the footer and one encoded row group in memory, no more.
//
// A File is what ReadFooter learnt of a file: immutable, cheap to keep, safe for concurrent use. A Decoder reads one column of one row
// group into Values, without one allocation a value; each goroutine has its own. What Writer does not write is refused
// (fault.Unsupported), so that a caller can leave the file to a general reader; damage is fault.Corrupt, never a panic and never memory
// beyond fixed bounds.
//
// The package knows nothing of streams, catalogs or Arrow.
package parquetfile
