// Package otlp decodes the bodies of OTLP export requests (logs, traces, metrics; protobuf and JSON) into signal batches, and
// builds the bodies that answer them. docs/protocol/otlp.md says which field becomes which column.
//
// # Shape
//
// Each message of OTLP that is read here is described once as a table of fields (message, schema.go). Two walkers, eachProto and
// eachJSON, find the fields of a message in its encoding and hand them to one visitor, so both encodings share what the fields
// mean (logs.go, traces.go, metrics.go). Attribute values are read into a tree of nodes whose memory is used again for each
// record, and go from there straight into a signal.Builder.
//
// # Invariants
//
//   - Pure: no I/O, no clock, no goroutines, no state outside a call. Arguments decide the result.
//   - All or nothing for a body that cannot be decoded: nothing is emitted and the error is fault.Invalid, naming the path of the
//     field (resourceLogs[0].scopeLogs[0].logRecords[2].timeUnixNano).
//   - Of a oneof the last member on the wire counts. Messages that leave no trace in a row (entity references, metadata, what a later
//     member replaced) are refused when they are broken, as if they were read; a record above the row limit is not looked into.
//   - A record that can be decoded and not be stored is rejected alone: Accepted + Rejected is the number of records sent.
//   - Memory is proportional to the body: nesting is bounded, records above the row limit are not read into memory, and rows that
//     repeat large resource attributes are bounded by a total.
//   - No value is lost: one whose column is taken in its row goes to another column, in the end to signal.OverflowColumn.
//
// The package must not import anything of the project but fault, signal, wire, jsonrow (for its limits) and
// jsontext.
package otlp
