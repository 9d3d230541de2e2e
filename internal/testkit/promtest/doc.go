// Package promtest is a metrics store inside a test process: the write path from the bytes of a remote write request on, and
// promstore over it. It also plays the storage that Prometheus' own test suite writes to. Test code only.
package promtest
