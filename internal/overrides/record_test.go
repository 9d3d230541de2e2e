package overrides_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/overrides"
)

func newCatalog(t *testing.T) *sqlite.Catalog {
	t.Helper()
	c, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// recorded is one process of several that follow a file and tell the audit log.
type recorded struct {
	*overrides.File

	source *limits.Source
	stop   func()
}

func record(t *testing.T, store catalog.Access, path string) *recorded {
	t.Helper()
	r := overrides.NewRecorder(auth.NewAudit(store, nil), nil)
	r.Start(t.Context())
	f := &recorded{source: limits.NewSource(limits.Default(), nil)}
	f.File = overrides.New(overrides.Options{Path: path, Period: 20 * time.Millisecond}, overrides.Deps{Target: f.source, Applied: r.Applied})
	require.NoError(t, f.Load())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	wg.Go(func() { r.Run(ctx) })
	f.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(f.stop)
	return f
}

func audit(t *testing.T, store catalog.Access) (out []string) {
	t.Helper()
	all, err := store.Changes(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, c := range all {
		require.Equal(t, "file", c.Actor)
		require.Equal(t, "overrides file", c.Object)
		_, text, _ := strings.Cut(c.Detail, "; ")
		out = append([]string{strings.TrimPrefix(c.Action, "overrides.") + " " + c.Org + " " + text}, out...)
	}
	return out
}

// TestChangesAreRecordedOnce has several processes follow one file that is changed there and back. Each change is recorded once, although
// each process makes it, and a return to what was before as well. A start records what changed while nobody looked.
func TestChangesAreRecordedOnce(t *testing.T) {
	t.Parallel()
	store, path := newCatalog(t), filepath.Join(t.TempDir(), "o.yaml")
	put(t, path, rate(1))
	all := []*recorded{record(t, store, path)}
	require.Eventually(t, func() bool { return len(audit(t, store)) == 1 }, 20*time.Second, time.Millisecond)
	all = append(all, record(t, store, path), record(t, store, path))
	want := []string{"load  "}
	change := func(mb int) {
		t.Helper()
		put(t, path, rate(mb))
		for _, f := range all {
			require.Eventually(t, func() bool { return f.source.For("a").IngestionRate == int64(mb)*mib }, 20*time.Second, time.Millisecond)
		}
	}
	for i, mb := range []int{2, 1, 2, 3} {
		was := []int{1, 2, 1, 2}[i]
		change(mb)
		want = append(want, fmt.Sprintf("apply a a: ingestion_burst_size_mb %d → %d, ingestion_rate_mb %d → %d", was, mb, was, mb))
	}
	put(t, path, "overrides: [\n")
	put(t, path, "overrides:\n  b: {max_line_size: 2KB}\n  c: {}\n")
	for _, f := range all {
		require.Eventually(t, func() bool { return f.source.For("b").MaxLineSize == 2048 }, 20*time.Second, time.Millisecond)
		f.stop()
	}
	want = append(want, "apply  a: removed, ingestion_burst_size_mb 3 → -, ingestion_rate_mb 3 → -; "+
		`b: added, max_line_size - → "2KiB"; c: added`)
	require.Equal(t, want, audit(t, store))

	record(t, store, path).stop()
	require.Equal(t, want, audit(t, store), "a start with what is known to be in force is no change")
	put(t, path, rate(9))
	for range 2 {
		record(t, store, path).stop()
	}
	require.Equal(t, append(want, "load  "), audit(t, store), "a change while no process ran")
}

// TestOneThatLagsRecordsNothingAgain has a process apply changes long after another has recorded them all, and later ones.
func TestOneThatLagsRecordsNothingAgain(t *testing.T) {
	t.Parallel()
	store := newCatalog(t)
	lagging := overrides.NewRecorder(auth.NewAudit(store, nil), nil)
	lagging.Start(t.Context())
	quick := overrides.NewRecorder(auth.NewAudit(store, nil), nil)
	quick.Start(t.Context())
	there := overrides.Applied{Before: "a", After: "b", Orgs: []overrides.OrgChange{{Org: "o", Text: "x 1 → 2"}}}
	back := overrides.Applied{Before: "b", After: "a", Orgs: []overrides.OrgChange{{Org: "o", Text: "x 2 → 1"}}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []*overrides.Recorder{quick, lagging} {
		for _, a := range []overrides.Applied{there, back, there} {
			r.Applied(a)
		}
		r.Run(ended)
		require.Equal(t, []string{"apply o o: x 1 → 2", "apply o o: x 2 → 1", "apply o o: x 1 → 2"}, audit(t, store))
	}
	quick.Applied(back)
	quick.Run(ended)
	require.Len(t, audit(t, store), 4)
}
