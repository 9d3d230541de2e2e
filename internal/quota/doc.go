// Package quota holds the rates at which orgs may send: the bytes of their writes, and the rows of each of their databases.
//
// Rows are the debt buckets (package debt) of all databases that have a limit (the option ingest_rows_rate_limit): a request passes when
// its database has one whole token, whatever its size, and is charged all of its rows; what the process writes of itself (Internal)
// passes uncharged. In a cluster each frontend enforces its share of the limit, and the whole limit before the first division (Share).
//
// Bytes is a token bucket without debt for each org (limits.ingestion_rate_mb, limits.ingestion_burst_size_mb): a request passes when
// the bucket holds all of its bytes, costs nothing when it does not, and can never pass when it is larger than the bucket. In a cluster
// each frontend's bucket has the whole burst and is refilled by its share.
//
// The parts below: debt is the arithmetic of one bucket, allocate computes shares, share keeps those of this process and is the contract of
// a store, postgres is the store, saved keeps debts across restarts.
//
// Invariants:
//
//   - Over any time span an org is admitted at most burst + rate × (span + 1 ns) bytes, unless its bucket was forgotten (next point).
//   - A request passes for all of its databases or for none. What was charged is never given back, what was refused costs nothing.
//   - A debt outlives a change of the limit, its removal and a restart (Restore, Saved).
//   - Memory is bounded: row buckets exist for databases that have a limit, or had one and owe. A byte bucket that is full again has no
//     state; of more than MaxOrgs that are not, those nearest to full are forgotten.
//   - Time comes from the injected clock, and never runs back.
//
// The package knows no protocol: a refusal is a fault.Limited with the time to wait, or a fault.TooLarge. It imports values only.
package quota
