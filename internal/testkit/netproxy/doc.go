// Package netproxy puts a TCP proxy between a program and a server that it needs, so that a test can take the server away.
//
// A Proxy passes connections on, refuses them (a dead server), or holds every byte (a hung one). HoldAt stops one connection at the
// moment a marked message passes: on its way, so that the server never gets it, or on the way back, so that the server has acted and
// nobody hears of it. Start returns when the proxy listens; it ends with the test and waits for all its goroutines.
//
// Test code only: nothing outside _test.go files and test/ may import it. It imports nothing of the project.
package netproxy
