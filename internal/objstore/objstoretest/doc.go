// Package objstoretest holds the acceptance suite of objstore: Run checks, against any store, every promise that the contract makes.
//
// Each case works for two orgs and looks that neither sees the other's objects. Test code only.
package objstoretest
