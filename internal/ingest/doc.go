// Package ingest makes rows durable and readable: schema caps, write-ahead log, buffers, flush, fresh reads.
//
// It is one component with one owner per process. Intake is built on it, and any role that makes rows of its own mounts the
// same component on its node.
//
// # The way of a batch
//
//	Write ─ stream registered ─ columns beyond the cap folded ─ payload encoded
//	      ─ under the dataset's lock: sequence, wal.Enqueue, buffer ─ wal.Wait ─► acknowledged
//	Run   ─ by time or size: closed prefix of a buffer ─ partitions ─ Parquet files ─ object store
//	      ─ ONE catalog.Commit a round ─ buffer dropped ─ wal.Release
//
// # Invariants
//
//   - For one dataset and epoch, sequence numbers are given, logged and buffered in one order. A row is visible when its log
//     position is durable; entries of a failed group are dropped before any reader sees them.
//   - A flush takes a prefix of durable entries. The committed sequence is the last number of that prefix.
//   - Rows of an earlier epoch of this node id are committed to a dataset before rows of this epoch are: otherwise the fence
//     would refuse them.
//   - Nothing leaves the log before the catalog has it, except by quarantine or because the dataset is gone.
//   - An identified batch that is written again is stored once (window.go). After an error that IsRefused, nothing of it is or will be.
//   - An epoch leaves the list of holders only when all its rows are committed, which only the volume on which it was drawn can tell
//     (volume.go).
//
// Lock order: buffer.mu, then the log's. Ingest.mu is never held while a buffer is locked or I/O is done.
//
// The package imports platform packages (catalog, columnar, wal, fresh, wire/arrowipc) and the values; no role, no edge, no engine.
package ingest
