// Package share keeps this process's shares of the budgets that the frontends of a cluster divide among them.
//
// Once a heartbeat a Keeper takes its shares from the Store, reports what it used, and computes the next division if nobody has done so
// lately; a budget that needs a division now does not wait for the heartbeat (Wanted). There is no leader: a division is a pure function of
// the reports (package allocate), and the store lets one frontend at a time write it.
//
// Invariants:
//
//   - A share is applied before the report that names it, so that others may count on what a report says is in force.
//   - While the store cannot be reached the last shares stay, for as long as that lasts. A share that was given away meanwhile stays too
//     until the next division: never back to the whole limit.
//   - Only budgets that have a limit, and had traffic, a debt or another limit within quota.MaxIdle, are divided. Without any the store is
//     not asked.
//   - Time is judged by the store's clock; rates are measured by this process's own.
//
// The package imports quota and its pure parts; the store is a contract here and made in its own package.
package share
