// Package router is the role that stands before a cluster: it hands batches to the intake nodes that own their slots and statements
// to queriers in turn.
//
// # The way of a batch
//
//	slot of its stream (a metrics batch: of each row's metric) ─ first three owners of the view ─ the first one that takes it
//
// Another node is tried only while it is certain that nothing was stored: the node could not be reached, or refused before its log.
// An unknown outcome is asked once more of the same node under the same batch id, then told to the client as such; the batch never
// goes to a second node, since rows might double (decisions D1).
//
// # The way of a statement
//
// Queriers take turns. The next one is tried while nothing of the answer has come.
//
// The router holds no rows and links no SQL engine. It declares what it needs of other nodes (Intake, answer.Answerer); app passes
// the object of this process or the rpc client. It must not import other roles or edges.
package router
