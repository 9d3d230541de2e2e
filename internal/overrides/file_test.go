package overrides_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/overrides"
	"github.com/millstream/millstream/internal/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// followed is a file that is followed, with the limits that come of it.
type followed struct {
	*overrides.File

	path     string
	source   *limits.Source
	registry *prometheus.Registry
}

// follow starts to follow a file whose poll is far away, so that only events bring changes.
func follow(t *testing.T, path string, period time.Duration) *followed {
	t.Helper()
	f := &followed{path: path, source: limits.NewSource(limits.Default(), nil), registry: prometheus.NewRegistry()}
	f.File = overrides.New(overrides.Options{Path: path, Period: period}, overrides.Deps{Target: f.source, Registerer: f.registry})
	require.NoError(t, f.Load())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

// rate is a file that gives org a a rate, and a burst of as much again.
func rate(mb int) string {
	return fmt.Sprintf("overrides:\n  a:\n    ingestion_rate_mb: %d\n    ingestion_burst_size_mb: %d\n", mb, mb)
}

// waitRate waits until org a has the rate.
func (f *followed) waitRate(t *testing.T, mb int64) {
	t.Helper()
	require.Eventually(t, func() bool { return f.source.For("a").IngestionRate == mb*mib }, 20*time.Second, time.Millisecond)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestEveryWayToChangeAFile edits in place, by rename, by removing and writing again, and as Kubernetes exchanges a ConfigMap.
func TestEveryWayToChangeAFile(t *testing.T) {
	t.Parallel()
	t.Run("in place", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "o.yaml")
		put(t, path, rate(1))
		f := follow(t, path, time.Hour)
		f.waitRate(t, 1)
		put(t, path, rate(2))
		f.waitRate(t, 2)
		require.NoError(t, os.Remove(path))
		put(t, path, rate(3))
		f.waitRate(t, 3)
		put(t, path, strings.TrimSuffix(rate(4), "\n"))
		f.waitRate(t, 4)
	})
	t.Run("rename", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "o.yaml")
		put(t, path, rate(1))
		f := follow(t, path, time.Hour)
		for mb := 2; mb < 5; mb++ {
			put(t, path+".new", rate(mb))
			require.NoError(t, os.Rename(path+".new", path))
			f.waitRate(t, int64(mb))
		}
	})
	t.Run("config map", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		version := func(n int) string {
			name := fmt.Sprintf("..v%d", n)
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
			put(t, filepath.Join(dir, name, "o.yaml"), rate(n))
			return name
		}
		require.NoError(t, os.Symlink(version(1), filepath.Join(dir, "..data")))
		path := filepath.Join(dir, "o.yaml")
		require.NoError(t, os.Symlink(filepath.Join("..data", "o.yaml"), path))
		f := follow(t, path, time.Hour)
		f.waitRate(t, 1)
		for n := 2; n < 5; n++ {
			require.NoError(t, os.Symlink(version(n), filepath.Join(dir, "..tmp")))
			require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
			require.NoError(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..v%d", n-1))))
			f.waitRate(t, int64(n))
		}
	})
	t.Run("a link to another folder, by polling", func(t *testing.T) {
		t.Parallel()
		path, there := filepath.Join(t.TempDir(), "o.yaml"), filepath.Join(t.TempDir(), "real.yaml")
		put(t, there, rate(1))
		require.NoError(t, os.Symlink(there, path))
		f := follow(t, path, 20*time.Millisecond)
		put(t, there, rate(2))
		f.waitRate(t, 2)
	})
}

// TestBadFilesKeepTheLastGoodValues breaks the file in several ways, and one org's entry.
func TestBadFilesKeepTheLastGoodValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "o.yaml")
	put(t, path, rate(1)+"  b: {ingestion_rate_mb: 1}\n  c: {ingestion_rate_mb: 1}\n")
	f := follow(t, path, time.Hour)
	judged := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			faults := f.Status().Faults
			return len(faults) > 0 && strings.Contains(faults[0].String(), want)
		}, 20*time.Second, time.Millisecond)
	}
	of := func(org tenant.ID) int64 { return f.source.For(org).IngestionRate / mib }
	for text, want := range map[string]string{
		"":                                  "the file is empty",
		"overrides:\n  a: [\n":              "no YAML",
		"overides: {}\n":                    `unknown key "overides"`,
		"overrides: {}\nconfigs: {a: {}}\n": `unknown key "configs"`,
	} {
		put(t, path, text)
		judged(want)
		require.Equal(t, []int64{1, 1, 1}, []int64{of("a"), of("b"), of("c")}, text)
	}
	require.NoError(t, os.Remove(path))
	judged("cannot be read")
	require.EqualValues(t, 1, of("a"))

	put(t, path, "overrides:\n  a: {ingestion_rate_mb: 2}\n  b: {ingestion_rate_mb: two}\n  d: {ingestion_rate_mb: -1}\n")
	judged("3: org b: ingestion_rate_mb")
	require.EqualValues(t, 2, of("a"), "others follow the file")
	require.EqualValues(t, 1, of("b"), "its last good value stays")
	require.Zero(t, of("c"), "what is not in the file any more has no override")
	require.Zero(t, of("d"), "an entry that never was good has none")
	require.NoError(t, testutil.GatherAndCompare(f.registry, strings.NewReader(`
# HELP millstream_overrides_bad_orgs Orgs whose entry in the overrides file has a fault.
# TYPE millstream_overrides_bad_orgs gauge
millstream_overrides_bad_orgs 2
# HELP millstream_overrides_last_reload_successful 1 when the overrides file that was looked at last has no fault.
# TYPE millstream_overrides_last_reload_successful gauge
millstream_overrides_last_reload_successful 0
`), "millstream_overrides_bad_orgs", "millstream_overrides_last_reload_successful"))

	put(t, path, rate(5))
	f.waitRate(t, 5)
	require.Empty(t, f.Status().Faults)
	require.Zero(t, of("b"))
}

func TestStartNeedsAFileThatCanBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	load := func(path string) error {
		return overrides.New(overrides.Options{Path: path}, overrides.Deps{Target: limits.NewSource(limits.Default(), nil)}).Load()
	}
	missing := load(filepath.Join(dir, "missing"))
	require.True(t, fault.Is(missing, fault.Invalid))
	put(t, filepath.Join(dir, "broken"), "overrides: [\n")
	require.ErrorContains(t, load(filepath.Join(dir, "broken")), "no YAML")
	put(t, filepath.Join(dir, "entry"), "overrides: {a: {x: 1}}\n")
	require.NoError(t, load(filepath.Join(dir, "entry")), "one org's mistake stops nobody")
}

// TestThousandEdits changes the file a thousand times, in place and by rename, in slow pieces too, while readers look: whatever they see
// was written as a whole, and the last edit is in force in the end.
func TestThousandEdits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "o.yaml")
	put(t, path, rate(1))
	f := follow(t, path, time.Hour)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if l := f.source.For("a"); l.IngestionRate != l.IngestionBurst || l.IngestionRate == 0 {
					t.Errorf("rate %d, burst %d: the file was never so", l.IngestionRate, l.IngestionBurst)
					return
				}
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	const edits = 1000
	for n := 1; n <= edits; n++ {
		text := rate(n)
		switch n % 3 {
		case 0:
			put(t, path+".new", text)
			require.NoError(t, os.Rename(path+".new", path))
		case 1:
			put(t, path, text)
		default: // cut in the middle of a number, of a line, of the file
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			require.NoError(t, err)
			for i, cut := 0, []int{0, len(text) / 2, len(text) - 2, len(text)}; i+1 < len(cut); i++ {
				_, err = file.WriteString(text[cut[i]:cut[i+1]])
				require.NoError(t, err)
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, file.Close())
		}
		if n%100 == 0 {
			f.waitRate(t, int64(n))
		}
	}
	close(stop)
	wg.Wait()
	f.waitRate(t, edits)
	require.NotZero(t, f.Status().Loaded)
}
