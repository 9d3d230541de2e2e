// Package sqlite is the catalog of a single process: one SQLite file in the data directory, in WAL mode.
//
// A commit is durable when Commit returns (synchronous = FULL), since the caller then truncates its write-ahead log. There is one
// connection that writes, whose transactions take the write lock when they begin, so a transaction never fails half way for want of
// it; and several that read, each from one snapshot. Times come from the process's clock.
//
// Opening brings the tables to this program's version. Several processes may open one file, but the design has one: the data
// directory is locked by its owner. The package must not import any other engine or role.
package sqlite
