// Package allocate divides a budget among the frontends that use it. It is pure: what comes out follows from what goes in, whoever computes
// it, so nobody has to lead.
//
// The division is max-min fair: the smallest wants are met first, and those that cannot be met get equal parts. Above that level a bigger
// claim changes nothing, so refusals that clients repeat do not buy quota. A want is a tenth more than the load, and the debt within one
// heartbeat, since a frontend that pays a debt out of a tiny share would pay for hours.
//
// Invariants:
//
//   - The shares of a complete division sum up to the limit exactly, each in 1..limit; with fewer tokens than frontends each has 1.
//   - The gate: shares that shrink are published at once, shares that grow only from what nobody has in force any more. So the sum in force
//     stays within the limit while shares move, except for frontends that had no share before.
//   - A frontend that is silent since the store was away keeps its share for a while (learning), or the first one back would take all.
//
// The package imports quota for its values, and asks no clock.
package allocate
