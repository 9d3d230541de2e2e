// Package compactor is the role that keeps storage in order: retention, the delayed deletion of objects, and the sweep of
// objects that nobody registered.
//
// Every duty may run twice, or on two nodes at once: the catalog decides, and deleting a missing object is no error.
//
//   - Retention retires segments whose rows are all older than the shortest of the tenant's, the database's and the stream's
//     retention. Queries hide expired rows at once, so a segment that is only partly expired can wait.
//   - An object is deleted when its segment has been retired for Options.DeletionGrace, which exceeds the longest query. The catalog
//     row goes after the object.
//   - An object that belongs to no segment is deleted when it is older than Options.OrphanGrace. Writers never commit an object that
//     is older than half of that (ingest), so one that is about to be registered is never swept.
//
// The package must not import other roles or edges.
package compactor
