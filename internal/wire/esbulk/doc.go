// Package esbulk decodes the body of Elasticsearch's _bulk: lines in pairs, an action and a document. Documents become log rows by
// package jsonrow, a batch a stream; the stream is the action's index.
//
// Every action gets one Item, in the order of the request, with the status that Elasticsearch gives in such a case, so that shippers
// send again what failed and nothing else. Rows are only ever added: "index" and "create" do the same, an "_id" is handed back but
// makes no row unique, "update" and "delete" are refused item by item.
//
// A line that is broken or too long costs its own item only: documents are one line each, and an action that cannot be read takes
// the line behind it along unless that line is an action itself.
//
// The package must not import anything of the project but wire, jsonrow, jsontext, signal, tenant and fault.
package esbulk
