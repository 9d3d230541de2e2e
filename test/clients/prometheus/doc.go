// Package prometheus holds Millstream against a real Prometheus and a real promtool, which `make test-prometheus` builds: the same
// samples go into both, and both answer the same questions.
//
// The tests are behind the build tag peers, since building Prometheus takes minutes.
package prometheus
