// Package debt is the token bucket that may go below zero: anything passes that finds one whole token, and what it takes too much is a
// debt that the refill pays off before the next one passes.
//
// All arithmetic is in integers. A bucket holds whole rows and billionths of a row; since quota (rows a second) × nanoseconds is a number
// of billionths, a refill has no remainder, and a change of the quota needs no conversion.
//
// Invariants:
//
//   - A request passes if and only if at least one whole token is there; 0.999999999 of one refuses.
//   - A refused request costs nothing, so the wait that it is told is exact to the nanosecond.
//   - A bucket holds at most one second of its quota. Lowering the quota cuts it to that, raising it gives nothing.
//   - Time never runs back, and stands still while there is no quota: neither tokens nor debts change then.
//
// A Bucket is not safe for concurrent use. The package imports the standard library alone and asks no clock.
package debt
