// Package rules holds the decisions that every catalog engine makes alike: what a commit's outcome is, how columns get their
// physical names, how options merge, and how values are encoded in the engines' text columns.
//
// Its functions are pure: an engine reads state under its locks, asks here, and writes. The encodings are stored and described in
// docs/format/catalog.md; a reader of them accepts what every earlier version wrote.
// The package imports the catalog's contract, fault and signal alone.
package rules
