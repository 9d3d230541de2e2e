// Package promapi is Prometheus' HTTP API over metrics of many orgs: what Grafana's data source, promtool and dashboards call below the
// base URL …/prometheus (docs/protocol/prometheus.md lists the endpoints), and remote read.
//
// It has two halves. Handler is the edge: it authenticates, reads the parameters and writes the answer. API answers a Question; it runs
// where the data is. A node without data puts a client between the two, since both sides are plain values: an Answerer. ReadHandler and
// Reader are the same for remote read, whose answers are streamed.
//
// The language is the Prometheus engine's, so are its errors, warnings and infos. A query's limits (time, samples, series) end that query
// alone. Parameters that Prometheus does not know are ignored, as it ignores them.
//
// The package imports values, answer (for the query API) and Prometheus' packages; what it needs of the store it declares as Metrics.
package promapi
