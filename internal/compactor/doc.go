// Package compactor is the role that keeps storage in order.
//
// Every duty may run twice, or on two nodes at once, and be cut off anywhere: the catalog decides, the loser drops its own, and deleting a
// missing object is no error.
//
//   - Expire retires segments whose rows are all older than the shortest of the tenant's, the database's and the stream's retention.
//     Queries hide expired rows at once, so a segment that is only partly expired can wait.
//   - Compact (compaction) merges small files inside hours and days that still get rows; Seal (partition_manifest) merges the hours of a
//     closed day and the days of a closed month into the few files that stay (plan.go). A merged file takes the place of its sources in
//     one step of the catalog that fails as a whole when a source is gone.
//   - RebuildIndexes (index_rebuild) builds search indexes that are missing or damaged and publishes each by compare and set.
//   - Reconcile (storage_reconciler) compares objects with the catalog. What a live segment lacks is reported and never retired. An object
//     that belongs to no segment is deleted when it is older than Options.OrphanGrace. Nobody registers an object whose upload began
//     longer ago than half of that, so one that is about to be registered is never deleted.
//   - Delete removes an object when its segment has been retired for Options.DeletionGrace, which exceeds the longest query. The catalog
//     row goes after the object.
//
// Compact, Seal, RebuildIndexes and Reconcile do the units that the division of work says are this node's; Expire and Delete do all.
//
// The package must not import other roles or edges.
package compactor
