// Package columnar is the layout of Millstream's data files: how rows become Parquet files and come back.
//
// docs/format/segment.md describes the layout; formats are versioned, one is writable and all that ever shipped are readable
// (Formats). A file holds rows of one dataset and one partition, sorted by time (logs, traces) or by series and time (metrics), in
// row groups that the constant column signal.BlockColumn names.
//
// The way of a flush: Split groups records by partition, WriteFile sorts and writes one part. OpenReader gives the rows back as
// records of package signal's shape, row group by row group. Merge joins files, and copies row groups that no other file overlaps.
// Nothing is converted: a column whose values have several types has one physical column a type.
//
// Memory is bounded by the part that is written (about 64 MiB of Arrow records by the caller's cut) and one encoded row group.
// The package links no SQL engine and imports catalog, fault and signal alone; its subpackage parquetfile encodes pages.
package columnar
