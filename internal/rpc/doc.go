// Package rpc is the internal edge: what nodes ask of each other over gRPC on one port, and the clients of it.
//
//	Intake.Append     one batch to the node that owns its slot
//	Intake.Snapshot   the fresh rows of a node's buffers
//	Querier.Ask       one statement; the answer streams back
//	Node.Ping         whether a node answers
//
// A message is a frame: a JSON head, of which readers ignore fields that they do not know so that versions may mix during a rolling
// upgrade, and a body of bytes, mostly a block of package arrowipc. Faults travel in heads with kind, message and wait; a gRPC status
// therefore always means that the call itself failed.
//
// Every call carries the cluster's token; a call without it learns nothing but that. The package must not import app; it implements
// the interfaces that the roles declare.
package rpc
