// Package mscluster runs a cluster of real millstream processes for tests: one process a role on loopback, a real PostgreSQL and a
// real S3 server.
//
// Every process reaches PostgreSQL and S3, and is reached by the others, through a proxy of its own, so that a test can cut one pair
// of them. Heartbeats are a second apart and a silent peer is dropped after three, so that tests need not wait long.
//
// Test code only: nothing outside _test.go files and test/ may import it.
package mscluster
