package backfill_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/backfill"
)

// dataFolder makes a Prometheus data folder of blocks: two series of floats and one of native histograms over hours, of which a part is
// deleted again, and a WAL with what is in no block.
func dataFolder(t *testing.T, hours int) string {
	t.Helper()
	dir := t.TempDir()
	opts := tsdb.DefaultOptions()
	opts.RetentionDuration = math.MaxInt64 / 2
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, opts, nil)
	require.NoError(t, err)
	db.DisableCompactions()
	const minute = int64(60_000)
	histograms := tsdbutil.GenerateTestHistograms(hours * 60)
	for i := range int64(hours * 60) {
		app := db.Appender(t.Context())
		for _, n := range []string{"a", "b"} {
			_, err := app.Append(0, labels.FromStrings("__name__", "m", "n", n), i*minute, float64(i))
			require.NoError(t, err)
		}
		_, err := app.AppendHistogram(0, labels.FromStrings("__name__", "h"), i*minute, histograms[i], nil)
		require.NoError(t, err)
		require.NoError(t, app.Commit())
	}
	require.NoError(t, db.CompactHead(tsdb.NewRangeHead(db.Head(), 0, int64(hours)*60*minute-1)))
	require.NoError(t, db.Delete(t.Context(), 10*minute, 19*minute, labels.MustNewMatcher(labels.MatchEqual, "n", "b")))
	require.NoError(t, db.Close())
	return dir
}

func read(t *testing.T, p backfill.Part, skip int64) (out []string) {
	t.Helper()
	err := p.Each(t.Context(), skip, func(s *backfill.Sample) error {
		value := fmt.Sprint(s.Value)
		if s.Histogram != nil {
			value = s.Histogram.String()
		}
		out = append(out, fmt.Sprintf("%s %d %s", s.Labels, s.Millis, value))
		return nil
	}, func(reason string) { out = append(out, "refused: "+reason) })
	require.NoError(t, err)
	return out
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	dir := dataFolder(t, 3)
	parts, err := backfill.Blocks(dir)
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	var all []string
	for _, p := range parts {
		whole := read(t, p, 0)
		all = append(all, whole...)
		require.Equal(t, whole[7:], read(t, p, 7), "the order is the same every time")
		require.Contains(t, p.Name(), p.ID())
	}
	require.Len(t, all, 3*180-10, "without what was deleted")
	require.Contains(t, all, `{__name__="m", n="b"} 540000 9`)
	require.NotContains(t, all, `{__name__="m", n="b"} 600000 10`)

	one, err := backfill.Blocks(filepath.Join(dir, parts[0].ID()))
	require.NoError(t, err)
	require.Equal(t, read(t, parts[0], 0), read(t, one[0], 0), "a block alone")

	stop := errors.New("enough")
	require.ErrorIs(t, parts[0].Each(t.Context(), 0, func(*backfill.Sample) error { return stop }, nil), stop)
	_, err = backfill.Blocks(t.TempDir())
	require.ErrorContains(t, err, "holds no block")
}

const openMetrics = `# HELP requests Requests by code.
# TYPE requests counter
requests_total{code="200"} 1 1600000000
requests_total{code="200"} 2 1600000015.5 # {trace_id="t1"} 0.5 1600000014
requests_total{code="500"} 3
plain 4 1600000000
# EOF
`

func TestOpenMetrics(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.om")
	require.NoError(t, os.WriteFile(path, []byte(openMetrics), 0o600))
	p, err := backfill.OpenMetrics(path)
	require.NoError(t, err)
	require.EqualValues(t, 4, p.Samples())
	require.Equal(t, []string{
		`{__name__="requests_total", code="200"} 1600000000000 1`, `{__name__="requests_total", code="200"} 1600000015500 2`,
		`refused: series requests_total{code="500"} has no time`, `{__name__="plain"} 1600000000000 4`,
	}, read(t, p, 0))
	require.Equal(t, []string{`{__name__="plain"} 1600000000000 4`}, read(t, p, 3))
	var families []backfill.Family
	var exemplars int
	require.NoError(t, p.Each(t.Context(), 0, func(s *backfill.Sample) error {
		families, exemplars = append(families, s.Family), exemplars+len(s.Exemplars)
		return nil
	}, func(string) {}))
	require.Equal(t, backfill.Family{Type: "counter", Help: "Requests by code."}, families[1])
	require.Zero(t, families[2])
	require.Equal(t, 1, exemplars)

	require.NoError(t, os.WriteFile(path, []byte("m 1 1600000000\nm{ 1\n# EOF\n"), 0o600))
	p, err = backfill.OpenMetrics(path)
	require.NoError(t, err)
	require.ErrorContains(t, p.Each(t.Context(), 0, func(*backfill.Sample) error { return nil }, nil), "after 1 samples")
	require.NoError(t, os.WriteFile(path, []byte("m 1 1600000000\n"), 0o600))
	_, err = backfill.OpenMetrics(path)
	require.ErrorContains(t, err, "does not end with # EOF")
}
