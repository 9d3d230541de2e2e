// Package quota holds the rates at which an org may send: today the bytes of its writes.
//
// Bytes is a token bucket without debt for each org (limits.ingestion_rate_mb, limits.ingestion_burst_size_mb): a request passes when
// the bucket holds all of its bytes, costs nothing when it does not, and can never pass when it is larger than the bucket. Each
// process counts for itself.
//
// Invariants:
//
//   - Over any time span an org is admitted at most burst + rate × (span + 1 ns) bytes, unless its bucket was forgotten (next point).
//   - Memory is bounded: a bucket that is full again has no state; of more than MaxOrgs that are not, those nearest to full are
//     forgotten.
//   - Time comes from the injected clock, and never runs back.
//
// The package knows no protocol: a refusal is a fault.Limited with the time to wait, or a fault.TooLarge. It imports values only.
package quota
