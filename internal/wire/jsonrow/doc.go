// Package jsonrow turns one JSON object into one row, by the rules of docs/format/schema.md that all protocols share: nested
// objects become dotted columns, arrays JSON text, numbers keep their exact value, and a value that finds its column taken goes to
// signal.OverflowColumn.
//
// A Decoder works in two steps. It flattens the text into fields, whose bytes point into the text, and then writes the fields to a
// signal.Builder as a log line, a metric sample or a span. After the first rows it allocates nothing.
//
// The package must not import anything of the project but wire, jsontext, signal and fault.
package jsonrow
