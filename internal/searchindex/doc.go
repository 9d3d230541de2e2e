// Package searchindex says which row groups of a data file can hold a word.
//
// An index object stands beside a data file. For every text column and row group it has a filter over the folded words (package
// words) of the values there: a filter never denies a word that is there, and wrongly admits one in about 256. It is built in the
// pass that writes the file (Builder), read by ranges (Open, Index.Groups), and names the object key and the checksum of the file
// that it was built for, so that a stale index is noticed and ignored. A missing, stale or damaged index costs a scan and nothing
// else.
//
// Invariants: tokens are exactly those of words.Of folded by words.AppendFold; a text that the filter cannot judge (a word longer
// than maxWord) makes its row group match everything. The format is described in docs/format/index.md.
//
// The package imports words and fault and nothing else of the project.
package searchindex
