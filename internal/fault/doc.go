// Package fault is the one closed list of error kinds and the one table that maps them to HTTP and gRPC statuses.
//
// A kind is set where the cause is known (fault.New, fault.Wrap) and survives wrapping with %w. An error without a kind is
// Internal: its text goes to the log and never to a client.
//
// Invariants: only edges (httpapi, rpc, ingress) turn a kind into a status; below them errors are values to branch on with
// KindOf. The package imports the standard library and gRPC's code list alone.
package fault
