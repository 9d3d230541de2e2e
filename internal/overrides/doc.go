// Package overrides reads the file that gives single orgs limits of their own, and follows its changes while the process runs.
//
// The file has the shape of Loki's:
//
//	overrides:
//	  big_user:
//	    ingestion_rate_mb: 30
//	    split_queries_by_interval: '15m'
//
// Invariants:
//
//   - What is in force is replaced as a whole (limits.Source.Replace), from one reading of the file. A file that is still being written is
//     left alone: nothing must have been written between two readings some time apart, longer apart when its last line has no end.
//   - A file that is missing, empty or no YAML changes nothing: the last good one stays in force, for every org.
//   - An entry with a fault concerns its org alone: that org keeps its last good entry, and has none when there was none. All faults are
//     told at once, each with its line: in the log, in metrics, in Status.
//   - A file that never rests is not waited for longer than half a second: then a content is used that is known to
//     be whole (change.whole).
//   - What is put in force is told to the audit log, once for all processes that follow the same file (Recorder).
//
// The package imports limits, tenant, clock, the audit log's records (catalog), a YAML parser and a library for file events.
package overrides
