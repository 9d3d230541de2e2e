// Package clock makes time a dependency where a decision hangs on it: retention, leases, epochs, cut-offs, limits.
//
// Pure in-memory concurrency keeps package time and is tested in testing/synctest. Leases and ownership are decided by the
// database's clock, never by this one. The package imports the standard library alone.
package clock
