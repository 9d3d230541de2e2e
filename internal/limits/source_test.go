package limits_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

func override(t *testing.T, values map[string]any) (o limits.Override) {
	t.Helper()
	for name, v := range values {
		require.NoError(t, o.Set(name, v))
	}
	return o
}

func TestWhatIsInForce(t *testing.T) {
	t.Parallel()
	base := limits.Default()
	base.IngestionRate = 4 << 20
	s := limits.NewSource(base, map[string]limits.Origin{limits.IngestionRateMB: limits.FromEnv})
	require.Equal(t, base, s.For("anybody"))
	s.Replace(map[tenant.ID]limits.Override{"big": override(t, map[string]any{
		limits.IngestionRateMB: int64(30), limits.SplitQueriesByInterval: "15m", limits.RejectOldSamples: false,
	})})

	big := s.For("big")
	require.EqualValues(t, 30<<20, big.IngestionRate)
	require.Equal(t, 15*time.Minute, big.SplitQueriesByInterval)
	require.Equal(t, base.MaxLineSize, big.MaxLineSize)
	require.Equal(t, base, s.For("anybody"))
	require.Equal(t, []tenant.ID{"big"}, s.Overridden())
	require.EqualValues(t, 1, s.Generation())

	type shown struct {
		text   string
		origin limits.Origin
	}
	explained := map[string]shown{}
	for _, v := range s.Explain("big") {
		explained[v.Name] = shown{v.Text, v.Origin}
	}
	require.Equal(t, shown{"30", limits.FromOverrides}, explained[limits.IngestionRateMB])
	require.Equal(t, shown{`"15m"`, limits.FromOverrides}, explained[limits.SplitQueriesByInterval])
	require.Equal(t, shown{"false", limits.FromOverrides}, explained[limits.RejectOldSamples])
	require.Equal(t, shown{`"1MiB"`, limits.FromDefault}, explained[limits.MaxLineSize])
	require.Equal(t, limits.FromEnv, s.Explain("anybody")[0].Origin)

	s.Replace(nil)
	require.Equal(t, base, s.For("big"))
}

func TestMaxAgeCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	l := limits.Default()
	require.Zero(t, l.MaxAge())
	l.RejectOldSamplesMaxAge = time.Hour
	require.Equal(t, time.Hour, l.MaxAge())
	l.RejectOldSamples = false
	require.Zero(t, l.MaxAge())
}

// TestTableIsWhole sets, shows and reads back every limit, so that no field is forgotten or shared.
func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range limits.Definitions() {
		require.False(t, seen[d.Name], d.Name)
		seen[d.Name] = true
		require.NotEmpty(t, d.Doc, d.Name)

		values := map[limits.Kind]any{
			limits.Mebibytes: 0.5, limits.Size: "3KiB", limits.Duration: "1d12h", limits.Number: int64(7), limits.Flag: false,
		}
		v, ok := values[d.Kind]
		require.True(t, ok, d.Kind)
		changed := limits.Default()
		require.NoError(t, d.Set(&changed, v), d.Name)
		require.NotEqual(t, limits.Default(), changed, d.Name)
		for _, other := range limits.Definitions() {
			if other.Name != d.Name {
				require.Equal(t, other.Show(limits.Default()), other.Show(changed), "%s changes %s", d.Name, other.Name)
			}
		}
		require.Error(t, d.Set(&changed, []string{"x"}), d.Name)
		require.Error(t, d.Set(&changed, int64(-1)), d.Name)
		var o limits.Override
		require.NoError(t, o.Set(d.Name, v))
		require.Equal(t, changed, o.Over(limits.Default()))
	}
	var o limits.Override
	require.ErrorContains(t, o.Set("max_lines", int64(1)), "unknown limit max_lines")
}

// TestReadersSeeOneGeneration replaces pairs of limits while others read: both are always of the same generation.
func TestReadersSeeOneGeneration(t *testing.T) {
	t.Parallel()
	s := limits.NewSource(limits.Default(), nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if l := s.For("a"); l.IngestionRate != l.IngestionBurst {
					t.Errorf("rate %d and burst %d are of different generations", l.IngestionRate, l.IngestionBurst)
					return
				}
			}
		})
	}
	for n := range 1000 {
		s.Replace(map[tenant.ID]limits.Override{"a": override(t, map[string]any{
			limits.IngestionRateMB: int64(n), limits.IngestionBurstSizeMB: int64(n),
		})})
	}
	close(stop)
	wg.Wait()
}
