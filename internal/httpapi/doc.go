// Package httpapi is the HTTP edge: it finds out who is asking, calls what does the work through the narrow interfaces declared
// here, and maps errors to statuses by the one table of package fault.
//
//	server.go      routes, and the three paths of a node without the API
//	middleware.go  request ids, access log, panics, metrics
//	intake_*.go    the write protocols, each answering in its own dress
//	query.go       SQL in, rows out
//	prometheus.go  where promapi's paths stand
//	cluster.go     nodes, slots, topology, drains
//	tokens.go     credentials, and the audit log
//	elastic.go     what shippers ask an Elasticsearch before they send
//	operate.go     health, readiness
//
// The package must not import roles, engines or internal/app.
package httpapi
