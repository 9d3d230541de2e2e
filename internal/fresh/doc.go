// Package fresh is the contract of a fresh read: what a query asks of a writer's buffers, and what the writer answers.
//
// A query takes the fresh rows of every writer epoch first and the catalog's snapshot second, then drops the chunks that the
// catalog's committed sequence covers (architecture, promise 2). So a holder must answer with every row of the asked datasets
// and time range that was acknowledged before the call and is not committed yet; rows that are committed meanwhile may be there
// too, since their sequence tells them.
//
// The package imports catalog, signal, tenant and Arrow alone.
package fresh
