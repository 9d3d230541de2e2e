// Package chaos kills the real program, its servers and its disks while numbered rows flow, and counts the rows afterwards.
//
// Rules: every row bears a number of its stream, and no number is ever sent twice. An acknowledged number must be there, once. A
// number that was sent and not acknowledged may be there, once. Nothing else may be there. Readers ask all the time: the count is
// the count of distinct numbers, never below what was acknowledged before the question, never above what was sent, and never falls.
//
// A short form with fixed seeds runs with all other tests; `make chaos` (build tag chaos) runs the long one, whose rounds and seed
// are set by MILLSTREAM_CHAOS_ROUNDS and MILLSTREAM_CHAOS_SEED.
package chaos
