// Package postgres keeps heartbeats, the view, drains and leases in one PostgreSQL database.
//
// Every method is one statement that commits by itself, or reads and then compares and sets: no lock is ever held while the server
// waits for this process, so a process that is stopped in the middle of anything blocks nobody. The view is written only if nobody
// has written it since it was read, and only while what was read is young; the loser reads again.
//
// The package has a small pool of its own, so that a heartbeat never queues behind queries of the catalog. Nothing is tried again
// here: who beats or looks does so again soon. Times are the server's. The package must not import engines, roles or the catalog.
package postgres
