// Package wire holds what the decoders of all protocols share: the limits they take, the result they give, the cutting of rows
// into chunks and the reading of long bodies line by line. The decoders are its subpackages, one a protocol.
//
// A decoder is pure: it reads the body it is given and nothing else, takes the time of receipt as an option, starts no goroutine
// and hands rows over through an [Emit] function. A row that cannot be stored is refused alone, with its place and a reason; only
// a body that cannot be read on ends with an error. Every row of a body that was read to its end is either accepted or rejected.
//
// The package and its subpackages must not import anything of the project but signal, tenant and fault.
package wire
