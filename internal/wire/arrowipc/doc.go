// Package arrowipc is the one byte form of a batch outside a process's memory: an S2 block that holds an Arrow IPC stream of at
// most one record. The log stores it, nodes send it to each other, and an intake node logs what a router sent without encoding it
// again.
//
// A block carries its schema, so each can be read alone. The package knows nothing of streams or orgs: what a block belongs to
// stands beside it. It imports fault, Arrow and S2 alone.
package arrowipc
