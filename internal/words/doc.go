// Package words defines what a word of a text is, for the word index, for match() and for pruning alike. It holds no state, no engine and
// no I/O, and imports fault and the standard library alone.
//
// A word is a longest run of letters, digits and underscores, [\p{L}\p{N}_], compared without regard to case. So "user_42" is one word,
// "10.0.0.1" four, and a run of CJK letters one.
//
// Invariant: pruning may keep too much, never drop a row that the filter accepts. Whatever is looked up in an index (Fold, LikeWords,
// RegexpWords, Term.Required) uses a folding that equates at least what the filters equate: (?i) of regular expressions, lower() and
// ILIKE of the engine.
package words
