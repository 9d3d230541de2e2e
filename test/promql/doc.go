// Package promql runs Prometheus' own test suite of PromQL over our storage, and the public cases of the area promql.
package promql
