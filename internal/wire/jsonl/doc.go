// Package jsonl decodes JSON lines and JSON arrays into batches: the body of POST /api/v1/intake/{logs|metrics|traces}/{stream}.
//
// A body whose first character is "[" is one array of objects and must be whole (at most Options.MaxBodyBytes). Any other body is
// JSON lines, an object a line, and may have any length: memory stays near one chunk. A byte order mark at the start and blank
// lines are skipped. Objects become rows by package jsonrow.
//
// The package must not import anything of the project but wire, jsonrow, signal and fault.
package jsonl
