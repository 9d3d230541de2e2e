// Package promstore shows the metrics of a database to the Prometheus engine: a storage.Queryable over fresh rows and segments.
//
// A querier takes one picture of the database, at its first use: the buffers of all writers first, the catalog second, and buffered
// batches that the catalog has committed are dropped. All selectors of a query see the same picture, so an acknowledged sample counts
// exactly once, whether it is flushed meanwhile or not.
//
// Rows of one series come from several buffers and files. They are joined in order of time; of several samples at one millisecond the
// one of the greatest version counts: buffers before files, a later file before an earlier one, a later row before an earlier one.
//
// Files are read with columnar.SeriesReader: runs of series first, and columns of a row group only when one of its runs is wanted. What was
// decoded (footers, the series of row groups, their samples) stays in a bounded cache, since segments never change: a dashboard that asks
// again reads the new files alone. Samples are used where they were decoded; nothing is allocated for a single sample.
//
// Files, and shares of large ones, are read by as many goroutines as there are processors; series stand in the order of the files
// nevertheless, so that an answer is the same every time.
//
// Answers that are streamed are collected in batches of series (SelectInBatches): the series first, then the samples of some at a time.
//
// A Store is safe for concurrent use; a querier is used by one goroutine, as Prometheus' own are. Nothing links the SQL engine.
//
// The package imports the contracts catalog, fresh and columnar, values, the words of retention options from sqlplan, and Prometheus'
// storage types.
package promstore
