// Package tenant holds the identity of an org: its id and the rules an id obeys.
//
// An ID that came out of ParseID is safe in object keys, file paths and log lines. Below the edges an org travels as a
// parameter, never in a context. The package imports fault and the standard library alone.
package tenant
