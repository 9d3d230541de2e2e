package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

// remoteWriter is a server that stores samples of remote write 2.0, each once, and refuses those of the series "bad". Its fault decides
// about the request with the given number, from 1; it returns whether the request is answered.
type remoteWriter struct {
	fault func(n int, w http.ResponseWriter) bool

	mu      sync.Mutex
	n       int
	samples map[string]int // how often each came, by labels, time and value
	types   map[string]bool
}

func (s *remoteWriter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if r.URL.Path != "/api/v1/write" || r.Header.Get("X-Millstream-Backfill") != "true" || s.fault != nil && s.fault(s.n, w) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	plain, err := snappy.Decode(nil, body)
	var request writev2.Request
	if err == nil {
		err = request.Unmarshal(plain)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stored, refused := 0, 0
	b := labels.NewScratchBuilder(8)
	for _, ts := range request.Timeseries {
		set, _ := ts.ToLabels(&b, request.Symbols)
		if meta, _ := ts.ToMetadata(request.Symbols); meta.Help != "" {
			s.types[string(meta.Type)+" "+meta.Help] = true
		}
		if set.Get("__name__") == "bad" {
			refused += len(ts.Samples)
			continue
		}
		for _, x := range ts.Samples {
			s.samples[fmt.Sprintf("%s %d %v", set, x.Timestamp, x.Value)]++
			stored++
		}
	}
	w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(stored))
	w.Header().Set("X-Prometheus-Remote-Write-Histograms-Written", "0")
	if refused > 0 {
		http.Error(w, "1 error like: bad", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// metricsFile writes an OpenMetrics file of two series with so many samples each.
func metricsFile(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# HELP m A gauge.\n# TYPE m gauge\n")
	for _, series := range []string{"a", "b"} {
		for i := range n {
			fmt.Fprintf(&b, "m{s=%q} %d %d\n", series, i, 1_600_000_000+i)
		}
	}
	b.WriteString("# EOF\n")
	path := filepath.Join(t.TempDir(), "m.om")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

func startWriter(t *testing.T) (*remoteWriter, string) {
	t.Helper()
	s := &remoteWriter{samples: make(map[string]int), types: make(map[string]bool)}
	return s, serve(t, s.ServeHTTP)
}

// An import that breaks off goes on where it stopped: every sample comes, and only those of the request without an answer come again.
func TestImportOfMetricsGoesOn(t *testing.T) {
	t.Parallel()
	s, addr := startWriter(t)
	path := metricsFile(t, 1000)
	s.fault = func(n int, w http.ResponseWriter) bool {
		switch {
		case n == 3:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		case n > 8:
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	got := run(t.Context(), "", "import", "--addr", addr, "--batch-rows", "100", path)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "goes on from here")
	require.Contains(t, got.err, "700 samples stored so far")
	s.fault = nil
	got = run(t.Context(), "", "import", "--addr", addr, "--batch-rows", "100", path)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "1,300 samples stored in")
	require.Contains(t, got.err, "700 samples before")
	require.Len(t, s.samples, 2000)
	for sample, times := range s.samples {
		require.Equal(t, 1, times, sample)
	}
	require.Equal(t, map[string]bool{"gauge A gauge.": true}, s.types)
	got = run(t.Context(), "", "import", "--addr", addr, path)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "nothing new: its 2,000 samples are stored already")
	got = run(t.Context(), "", "import", "--addr", addr, "--org", "other", path)
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "--restart begins again")
}

func TestImportOfMetricsCountsWhatIsRefused(t *testing.T) {
	t.Parallel()
	s, addr := startWriter(t)
	path := filepath.Join(t.TempDir(), "m")
	require.NoError(t, os.WriteFile(path, []byte("bad 1 1600000000\ngood 2 1600000000\nlate 3\n# EOF\n"), 0o600))
	got := run(t.Context(), "", "import", "--addr", addr, "--format", "openmetrics", path)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "2 rows refused")
	require.Contains(t, got.err, "1 sample stored")
	require.Contains(t, got.err, "series late has no time")
	require.Contains(t, got.err, "1 error like: bad")
	require.Len(t, s.samples, 1)
	got = run(t.Context(), "", "import", "--addr", addr, "--format", "parquet", path)
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "--format")
	got = run(t.Context(), "", "import", "--addr", addr, t.TempDir())
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "holds no block of a Prometheus TSDB")
}
