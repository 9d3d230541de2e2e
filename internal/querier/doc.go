// Package querier is the role that answers statements: SQL over the streams of one org, and the statements about databases and
// streams.
//
// # The way of a question
//
//	parse ─ names inside the org ─ a place in the engine ─ fresh rows of all writers ─ ONE catalog snapshot
//	─ drop fresh rows that the snapshot has as segments ─ bind ─ prune ─ pin files ─ read the few rows, or count the rows, that
//	the statement needs (package rowfind) ─ views over those and the files that are left ─ run ─ stream ─ release
//
// # Invariants
//
//   - The fresh rows are taken before the catalog snapshot and those at or below the committed sequence of their writer are dropped,
//     so every acknowledged row is in the answer exactly once. All tables of a statement see the same snapshot.
//   - A statement sees a stream only through a view of ours. The view has the column types of today (all types ever published,
//     joined with those among the fresh rows), whatever types the files have, and hides rows that are expired or outside the
//     asked time.
//   - Pruning leaves out only segments without a row that the statement can use.
//   - Of samples of a metric that are of one series and time the one of the greatest version is shown, as in PromQL. Views look for
//     such duplicates only in times that several files or buffers share.
//   - A segment whose org is not the asking one is never read, whoever planned it.
//   - Limits end one statement only and say which limit it was.
//
// # Hidden columns
//
// signal.BlockColumn and signal.NanosColumn can be named in a statement but are not in SELECT *. Fresh rows have no block (NULL);
// a row without digits below a microsecond has 0 nanoseconds.
//
// A Querier is safe for concurrent use; goroutines that read files (package rowfind) end before the call that needs them. A Result is
// used by one goroutine.
//
// The package imports the engines duck, sqlplan and rowfind and the contracts catalog and fresh; no other role and no edge.
package querier
