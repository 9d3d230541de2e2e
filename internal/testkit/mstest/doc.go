// Package mstest runs the real millstream program for tests and talks to it.
//
// Start builds the program (once: an unchanged program is not linked again, and test binaries that run side by side wait for each
// other), starts it on free ports with a data directory of its own and returns when readyz says so. A Server may be stopped,
// killed, and started again on the same data and ports; its log is shown when the test fails. Client posts bodies and asks
// statements; WaitFor polls a condition up to a deadline. $MILLSTREAM_TEST_BINARY names a program to use instead of building one.
//
// Test code only: nothing outside _test.go files and test/ may import it. It imports no package of the product, so that a test
// binary links no engine.
package mstest
