// Package otel runs OpenTelemetry's own programs against the real server: the Collector, built from its modules and configured as
// operators do, and the exporters of the Go SDK as an application uses them.
//
// It is a module of its own, so that what it needs stays out of the product's go.mod. The server is built from the product's module
// in the same working tree (a replace directive), the kit that starts it is internal/testkit/mstest.
package otel
