// Package cluster knows which nodes there are, which of them owns what, and tells the others about this one.
//
// There is no gossip and no consensus: each node writes a heartbeat row into the database, and every reader computes the member lists
// from these rows and writes them into one view row when they differ (Store.Observe). Ownership is a pure function of the view:
// Rank for slots, Owner for units of work.
//
// # Invariants
//
// An epoch is one view, byte for byte the same for all readers, and epochs only grow. All time that decides membership is the
// database's. Ownership is an affinity and never a lock: a node that acts on an old view costs a hop or some I/O, never rows.
//
// # Hysteresis
//
// A node comes into the view as joining with its first ready heartbeat and becomes a member one peer timeout later, or at once when a
// role has no member. It leaves at once when it deletes its row or says that it is not ready, and one peer timeout after its last ready
// heartbeat when it falls silent. A process that comes back under its id and is ready before that keeps what it owned. While
// the database has not been observed without a pause for one peer timeout nobody is removed for silence: heartbeats could not be
// written, so their age says nothing. A clock of the database that steps back is met by clamping what lies in its future.
//
// Store is the contract; package postgres implements it, package clustertest holds its conformance suite. Membership is the part that
// runs in a process with a database, Static the membership of one without. The package must not import roles, edges or settings.
package cluster
