// Package optioncache keeps the options of all databases in memory, for decisions that are taken at every write and may not wait for
// the catalog.
//
// Invariants:
//
//   - Options are asked from memory: an answer never waits and never fails.
//   - While the catalog answers, an answer is at most Options.Every and the time of one question old. While it does not, the last good
//     answers stay, for as long as that lasts.
//   - All options of one reading are of one moment.
//
// Its memory grows with the databases that have options, not with those that exist. The package imports the catalog's contract alone.
package optioncache
