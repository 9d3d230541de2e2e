// Package catalog is the contract of Millstream's catalog: names, schemas, the list of segments, and who may still hold rows
// that no segment has.
//
// # The commit protocol
//
// A writer draws an epoch when it starts (StartWriter) and numbers the batches of every dataset from 1 within it. A flush writes
// files for a closed range (From, To] of one (dataset, node, epoch), then calls Commit. Per dataset, in one transaction for all
// datasets of the round:
//
//   - fence: refused when a later epoch of the same node id has committed to the dataset;
//   - compare-and-set: the committed sequence of (dataset, node, epoch) must equal From. If it is To already the commit is a
//     repeat and succeeds without effect. Otherwise it is stale: the writer rereads and trims.
//   - effect: segments become visible, columns are published and widened, the committed sequence becomes To.
//
// Each dataset is judged alone, the fence first; a refused one leaves the others in the round untouched. Compaction replaces
// segments by Replace, which fails as a whole when any source is gone. Every committed part, and every Replace and Expire that
// changes anything, raises the version of its dataset by one.
//
// The fence binds a node that replays: it commits the ranges of its older epochs before its own epoch commits to the same dataset.
//
// # Reading
//
// Snapshot returns segments, columns and committed sequences as of one moment. A reader takes the snapshot of the buffers of every
// writer in Writers first and then the catalog's, and drops buffered rows at or below the committed sequence (architecture,
// promise 2).
//
// # Segments and objects
//
// Segment numbers are drawn before a file is written and never reused. A row is removed from the catalog before its object:
// Replace, Expire and DropDatabase retire segments; a retired segment stays listed by Retired until its object is deleted, so
// that a query which planned it can finish.
//
// All methods are safe for concurrent use and obey the context. Errors carry fault kinds; an engine that cannot be reached is
// fault.Unavailable. Two implementations, catalog/postgres and catalog/sqlite, pass one suite, catalog/catalogtest. The
// package imports fault, signal, tenant and, for Instrument, Prometheus' client.
package catalog
