package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGrowthReport(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeGrowth(&b, 3_000_000, growthFigures{
		loads: []intake{
			{cpu: 1200 * time.Millisecond, memory: 200 * mebi, disk: 30e6},
			{cpu: 9 * time.Second, memory: 400 * mebi, disk: 210e6},
			{cpu: 99 * time.Second, memory: 410 * mebi, disk: 2100e6},
		},
		questions: []result{{name: "one trace_id", unit: "ms", values: []float64{4, 5, 10}, remarks: []string{"slow"}}},
		memory:    []memoryFigure{{name: "intake", peak: 410 * mebi, bound: 512 * mebi, why: "buffers 256, the rest 256"}},
		spread: []spreadFigure{
			{name: "1 stream", cpu: []time.Duration{9 * time.Second, 8 * time.Second, 10 * time.Second}, segments: 40},
			{name: "1000 orgs", cpu: []time.Duration{12 * time.Second}, segments: 1000},
		},
	})
	require.Equal(t, strings.TrimPrefix(`
| | 300,000 rows | 3,000,000 rows | 30,000,000 rows | last step | wanted |
|---|---|---|---|---|---|
| intake, CPU a row | 4.00 µs | 3.00 µs | 3.30 µs | +10 % | within 15 % |
| intake, peak memory | 200 MiB | 400 MiB | 410 MiB | | bounded |
| disk a row | 100 bytes | 70 bytes | 70 bytes | | |
| one trace_id | 4.00 ms | 5.00 ms | 10.0 ms | rows^0.30 | below rows^0.5 |

| memory with the most rows | peak | allowed | of which (MiB) |
|---|---|---|---|
| intake | 410 MiB | 512 MiB | buffers 256, the rest 256 |

| 3,000,000 rows in 1000 requests | CPU to settled | ratio | segments | wanted |
|---|---|---|---|---|
| 1 stream | 9.00 s | 1 | 40 |  |
| 1000 orgs | 12.0 s | 1.33 | 1000 | ≤ 1.5 |

- one trace_id: slow`, "\n"), b.String())
}

func TestRecut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lines")
	require.NoError(t, os.WriteFile(path, []byte("a\nb\nc\nd\n"), 0o600))
	in := &input{path: path, bytes: 8}
	require.NoError(t, in.recut(4))
	require.Equal(t, []int64{0, 4, 6, 8, 8}, in.cuts)
}
