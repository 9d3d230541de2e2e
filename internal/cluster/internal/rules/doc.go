// Package rules decides who is a member: what both stores do with rows and the last view, apart from how they keep them.
//
// Next is a pure function of the record, the rows and the time, which is the store's. It must not do I/O and must not read a clock.
package rules
