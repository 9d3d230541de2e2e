// Package catalogtest is the conformance suite of the catalog: each sentence of the contract in package catalog has a case here,
// and both engines pass all of them.
//
// Every case works with two orgs of its own, so that cases may share a catalog and a leak between orgs shows. Cases never wait on
// wall time and never assert it. Test code only: nothing outside _test.go files and test/ may import it.
package catalogtest
