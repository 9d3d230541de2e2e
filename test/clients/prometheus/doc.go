// Package prometheus holds Millstream against a real Prometheus and a real promtool, which `make test-prometheus` builds: the same
// samples go into both, and both answer the same questions: those of the Prometheus compliance tester, promtool's, and those of Grafana's
// data source (testdata/grafana.http names the source of each).
//
// The tests are behind the build tag peers, since building Prometheus takes minutes.
package prometheus
