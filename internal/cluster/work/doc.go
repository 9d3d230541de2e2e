// Package work divides background work among the nodes of a role: which of them owns a unit, who is the primary, who holds a lease.
//
// Every unit (a dataset, an org, a rule) has one owner among the members and joining nodes of the view, by rendezvous over their ids.
// A joining node owns its share at once, so that the others leave it alone, but works only as a member, one peer timeout later: its
// share waits, and is not done twice. Nodes read views at slightly different moments, so two may still work on one unit while members
// change. That costs I/O and never rows, since every result is published by one atomic step of the catalog; work whose repetition
// would be seen takes a lease.
//
// The package must not import roles, edges or settings.
package work
