// Package postgres is the catalog of a cluster: tables in one PostgreSQL database, reached through a pool.
//
// # Isolation
//
// Writing transactions run READ COMMITTED and take explicit row locks, always in the order database, datasets by ascending id,
// streams. A dataset's row is the lock of everything about its segments: the commits of a hot dataset queue on it and each succeeds
// at its turn, where SERIALIZABLE would abort all but one and have the others write again. Statements after the lock see what its
// earlier holders committed. Snapshot runs REPEATABLE READ, READ ONLY: several statements, one moment, no locks, no aborts.
//
// # Failures
//
// Serialization failures, deadlocks and connections lost before COMMIT was sent are tried again with jitter: nothing has happened.
// A connection lost while COMMIT was on its way is never tried again here, since the outcome is unknown: the error is
// fault.Unavailable and the contract says which methods may be repeated. The pool replaces broken connections, so a restart of the
// server costs at most the calls under way.
//
// Times are the server's. The package must not import any other engine or role.
package postgres
