//go:build long

package promql_test

import "testing"

// Ten thousand metrics of a hundred series each, an hour at a minute's steps: 60 million samples.
func TestTenThousandNames(t *testing.T) {
	manyNames{names: 10_000, series: 100, steps: 60, flushEvery: 1}.run(t)
}
