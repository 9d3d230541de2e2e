// Package loki decodes Loki's push requests, POST /loki/api/v1/push: JSON (the streams/values form and the older labels/entries
// form) and protobuf (logproto.PushRequest), into log rows.
//
// Columns of a row (docs/format/schema.md): each label is a column of its name, signal.LabelsColumn holds the sorted label set, the
// line is the column message, each structured metadata pair is a column of its name, or "metadata." + name where a label or the line
// has that name. A label whose name the line has taken stands in signal.LabelsColumn alone.
//
// Labels of empty values are removed. Label names are Prometheus' ([a-zA-Z_][a-zA-Z0-9_]*); a stream whose label set is empty, names
// a label twice or has a bad name is refused, entry by entry. Names of structured metadata are brought to that form with underscores.
// No label is added: what was sent is what is stored.
//
// A request that is not of the protocol's form (also: a JSON time that is no string) is Invalid as a whole, as in Loki; one of more
// than a chunk may then be stored in part. A request without streams is Invalid; Loki says 422 there, our status is that of Invalid.
//
// The package must not import anything of the project but wire, jsontext, signal, tenant and fault.
package loki
