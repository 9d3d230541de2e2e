// Package pgtest gives tests a real PostgreSQL server.
//
// DSN gives a test a database of its own on the server that `make test` started (MILLSTREAM_TEST_POSTGRES_DSN), or on a private
// one when that variable is not set. Start gives a test a private server that it may stop, kill and start again. Without an
// installed server a test is skipped with a line that says what to install; when CI is set it fails instead.
//
// The server's programs refuse to run as root, so root runs them as the user postgres or nobody. Servers write to temporary
// folders, listen on loopback only and do not fsync: they survive the kill of a process, not a power cut.
// Test code only: nothing outside _test.go files and test/ may import it.
package pgtest
