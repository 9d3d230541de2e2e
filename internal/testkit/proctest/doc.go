// Package proctest runs the real servers that tests need (PostgreSQL, an S3 gateway) as child processes.
//
// A Process is started, awaited until it answers, and ended by its own process id; none outlives the process that started it (on
// Linux the kernel ends it when the parent dies). Output goes to a file, never to an inherited pipe, so `go test` does not wait for
// a stray child. Test code only: nothing outside _test.go files, other test kits and test/ may import it.
package proctest
