// Package compactor is the role that keeps storage in order: retention, merging of small files, the delayed deletion of objects, and
// the sweep of objects that nobody registered.
//
// Every duty may run twice, or on two nodes at once: the catalog decides, and deleting a missing object is no error.
//
//   - Retention retires segments whose rows are all older than the shortest of the tenant's, the database's and the stream's
//     retention. Queries hide expired rows at once, so a segment that is only partly expired can wait.
//   - Small files of an hour become one; hours of a closed day become a day, days of a closed month a month (plan.go). A merged file
//     takes the place of its sources in one step of the catalog that fails as a whole when a source is gone.
//   - An object is deleted when its segment has been retired for Options.DeletionGrace, which exceeds the longest query. The catalog
//     row goes after the object.
//   - An object that belongs to no segment is deleted when it is older than Options.OrphanGrace. Writers never commit an object that
//     is older than half of that (ingest), so one that is about to be registered is never swept.
//
// The package must not import other roles or edges.
package compactor
