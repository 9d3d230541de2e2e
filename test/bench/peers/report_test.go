package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	t.Parallel()
	about := conditions{
		settings: settings{rows: 1000, loads: 1, rounds: 5}, generator: "synthetic", bytes: 3_000_000, date: "2026-11-30", cores: 2,
		processor: "a processor", loadBefore: "0.10 0.20 0.30", loadAfter: "1.10 0.40 0.30",
	}
	servers := []dialect{&product{build: "v1"}, &victoriaLogs{}}
	text := report(about, servers, []result{
		{name: "intake", unit: "s", values: []float64{2.5, 10}, goal: goal{ratio: 0.4}},
		{name: "count", unit: "ms", values: []float64{90, 100}, goal: goal{ratio: 0.2}},
		{name: "first row", unit: "ms", values: []float64{149.6, 12}, goal: goal{value: 150}},
		{name: "broken", unit: "ms", values: []float64{math.NaN(), 5}, goal: goal{ratio: 1}, remarks: []string{"Millstream: no answer"}},
		{name: "idle peer", unit: "ms", values: []float64{10, 0}, goal: goal{value: 50}},
	})
	require.Equal(t, strings.TrimPrefix(`
# 2026-11-30, 1000 rows of JSON lines (3 MB, synthetic)

Millstream v1, VictoriaLogs v1.52.1. 2 cores (a processor). Load average 0.10 0.20 0.30 before, 1.10 0.40 0.30 after. `+
		`Loads: 1, rounds: 5, servers in turn, medians; times include HTTP and JSON.

| | Millstream | VictoriaLogs | ratio | to reach | |
|---|---|---|---|---|---|
| intake | 2.50 s | 10.0 s | 0.25 | ≤ 0.4 × | met |
| count | 90.0 ms | 100 ms | 0.90 | ≤ 0.2 × | not met |
| first row | 150 ms | 12.0 ms | 12.47 | ≤ 150 ms | met |
| broken | failed | 5.00 ms | — | ≤ 1.0 × | not met |
| idle peer | 10.0 ms | 0.00 ms | — | ≤ 50.0 ms | met |

- broken: Millstream: no answer
`, "\n"), text)
}

func TestReportOfOneServer(t *testing.T) {
	t.Parallel()
	text := report(conditions{}, []dialect{&product{}}, []result{
		{name: "count", unit: "ms", values: []float64{90}, goal: goal{ratio: 0.2}},
	})
	require.Contains(t, text, "| count | 90.0 ms | — | ≤ 0.2 × |  |\n")
}
