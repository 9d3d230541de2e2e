// Package bytesize reads and writes sizes in bytes, as settings hold them.
//
// There are two tables of units, since two worlds meet in one file: general settings tell 1000 from 1024 as IEC 80000-13 does, the limits
// of an org mean what Loki means by them. Both write alike. The package imports the standard library alone.
package bytesize
