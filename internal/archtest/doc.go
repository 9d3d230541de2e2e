// Package archtest holds the tests that read the whole source tree: which package may import which (layers_test.go holds the
// table), one package comment in each package's doc.go, no package variable that is written after its declaration, and no path of
// somebody's machine in a tracked file.
//
// The tests parse sources without building them, so build tags and cgo do not matter. There is no code here but tests.
package archtest
