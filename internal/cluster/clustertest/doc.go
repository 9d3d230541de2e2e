// Package clustertest is the conformance suite of the cluster's store, and a store in memory that passes it.
//
// Each sentence of the contract in package cluster has a case. Cases that need time to pass ask the fixture: a fake clock jumps, a real
// database is watched until the condition holds. Test code only: nothing outside _test.go files and test/ may import it.
package clustertest
