// Package duck is the SQL engine: DuckDB behind a pool of sandboxed instances. It is the only package that links DuckDB (cgo, a
// static library of the pinned module; no build tag is needed because results and tables are converted here, vector by vector,
// and not through the bindings' Arrow calls).
//
// Invariants:
//
//   - A running statement has an Instance (a DuckDB database of its own) to itself. An idle instance is reused only for the org, or
//     the same orgs, that used it last; for others a new one is opened. So nothing of one org can be seen or exhausted by another.
//   - An instance reads files below the directories of its orgs and nothing else: external access is off, extensions neither load
//     nor install, the configuration is locked. This is the second wall; the first is the caller's allow-list walk over the
//     syntax tree (package sqlplan) with the function list of this package (Allowed, Rewrite).
//   - Query runs exactly one SELECT and streams: chunks are computed while they are read, in memory that does not grow with the
//     result. Rows come in the order in which the engine finds them unless the statement sorts them: preserve_insertion_order is
//     off, because keeping the order of an unsorted SELECT makes DuckDB hold back what other threads computed.
//   - Cancelling the context of Query, Next, Exec or LoadTable interrupts the engine and returns the context's error. It does not
//     reach into one call of a scalar function; that is why functions whose result grows with an argument are bounded macros.
//   - Fresh rows enter through LoadTable, which copies them into a temporary table. An Arrow view is never registered: DuckDB would
//     read it with projections and filters that nobody applies.
//   - Text of the engine reaches a client only for mistakes of the statement, without the paths of this server. Everything else is
//     fault.Internal and stays in the log.
//
// The package imports tenant, fault, Arrow and the bindings, and nothing else of the project.
package duck
