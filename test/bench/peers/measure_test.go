package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 3, median([]float64{3}), 0)
	require.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0)
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	require.InDelta(t, 99, quantile(values, 0.99), 0)
	require.InDelta(t, 100, quantile(values, 1), 0)
	require.InDelta(t, 1, quantile(values, 0), 0)
	require.InDelta(t, 7, quantile([]float64{7}, 0.99), 0)
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	got, err := parseStat("42 (a (strange) name) S 1 42 42 0 -1 4194560 900 0 0 0 250 50 7 8 20 0 9 0 100 1 1\n")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, got)
	_, err = parseStat("42 (short) S 1")
	require.Error(t, err)
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	got, err := parseStatus("Name:\tx\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\n")
	require.NoError(t, err)
	require.Equal(t, int64(2<<20), got)
	_, err = parseStatus("Name:\tx\n")
	require.Error(t, err)
}

func TestOwnProcessIsMeasured(t *testing.T) {
	t.Parallel()
	memory, err := peakMemory(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, memory)
	_, err = cpuTime(os.Getpid())
	require.NoError(t, err)
}

func TestSamples(t *testing.T) {
	t.Parallel()
	m, err := readSamples(strings.NewReader(`# HELP parts Files.
# TYPE parts gauge
parts{type="storage/small",path="a b"} 3
parts{type="storage/inmemory"} 2
parts_total 9
bare 1.5e3
`))
	require.NoError(t, err)
	require.InDelta(t, 5, m.sum("parts"), 0)
	require.InDelta(t, 2, m.sum("parts", `type="storage/inmemory"`), 0)
	require.InDelta(t, 1500, m.sum("bare"), 0)
	require.Zero(t, m.sum("absent"))
	_, err = readSamples(strings.NewReader("parts many\n"))
	require.Error(t, err)
}

func TestDiskUsageCountsBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "b", "f"), make([]byte, 100_000), 0o644))
	got, err := diskUsage(dir)
	require.NoError(t, err)
	require.GreaterOrEqual(t, got, int64(100_000))
	_, err = diskUsage(filepath.Join(dir, "missing"))
	require.Error(t, err)
}
