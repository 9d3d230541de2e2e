// Package jsontext scans JSON text held in memory without building values: a Scanner walks the bytes once and hands out tokens that
// point into them. It accepts exactly what RFC 8259 and encoding/json accept, within MaxDepth levels.
//
// It exists because intake turns JSON into columns: a general decoder allocates a value per field, which costs more than the rest
// of the way to the log. Its equality with encoding/json is fuzzed.
//
// Strings: escapes are resolved; a surrogate escape without its partner becomes U+FFFD, as in encoding/json; invalid UTF-8 is passed
// on for signal.Builder to replace. Numbers: the token is kept, so nothing is rounded that a caller wants exact.
//
// The package must not import anything of the project.
package jsontext
