// Package slot maps streams to slots: 16384 units of intake ownership, computed as Redis Cluster computes them.
//
// A slot places rows on an intake node and means nothing else: a stream's identity is its id in the catalog. Clients compute slots
// too, so the functions are a protocol: they change for everyone at once, with a new algorithm number in the view, or not at all.
//
// The package imports the standard library alone and keeps no state.
package slot
