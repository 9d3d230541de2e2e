// Package faultstore wraps an object store so that chosen operations fail, before or after they took effect, or come late.
//
// Rules pick operations by kind, key and count, or at random from a seed, so that a test names the fault it means and a failing
// random run can be run again. Test code only. It imports objstore and fault.
package faultstore
