// Package pgtables is what packages that keep tables in PostgreSQL share: how their connections are set, and how their tables come to a
// program's version.
//
// Connections have timeouts that the server enforces, unless the DSN sets others, and their commits wait for the disk whatever the
// server's default: what is truncated or counted on the strength of a commit must not come back. Each owner has a schema of its own,
// told apart by the table of its version and by its lock, so owners migrate independently in one database.
//
// The package knows no table and imports pgx and goose alone.
package pgtables
