package catalogtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// RunRestart checks that everything is there after a restart and that ids go on. open opens the same store each time it is called,
// which may be while it is open already.
func RunRestart(t *testing.T, open func(t *testing.T) catalog.Catalog) {
	t.Helper()
	f := newFixture(t, open(t))
	s := f.both()
	epoch := f.start()
	f.create("d")
	d, err := f.AlterDatabase(f.ctx, acme, "d", map[string]*string{"a": new("1")})
	require.NoError(t, err)
	columns := f.reserve(s[0], "user", "User")
	part := f.part(s[0], 0, 3)
	part.Columns = []catalog.PublishedColumns{{Stream: s[0].ID, Columns: published(columns, 2)}}
	f.commit("n", epoch, part, f.part(s[1], 0, 1))
	require.NoError(t, f.Replace(f.ctx, s[1].Dataset, f.live(s[1]), f.segments(s[1], 1)))
	before, retired := f.snapshot(s[:]...), f.retired()
	writers, err := f.Writers(f.ctx)
	require.NoError(t, err)
	last := f.segments(s[0], 1)[0].ID
	require.NoError(t, f.Close())

	f = newFixture(t, open(t))
	require.NoError(t, f.Ping(f.ctx))
	require.Equal(t, before, f.snapshot(s[:]...))
	list, err := f.Databases(f.ctx, acme)
	require.NoError(t, err)
	require.Equal(t, d, list[0])
	again, err := f.Writers(f.ctx)
	require.NoError(t, err)
	require.Equal(t, writers, again)
	require.Equal(t, retired, f.retired())
	require.Greater(t, f.start(), writers[len(writers)-1].Epoch)
	require.Greater(t, f.segments(s[0], 1)[0].ID, last)
	require.Equal(t, catalog.Repeated, f.commit("n", epoch, part)[0].Outcome)
	require.NoError(t, f.DropDatabase(f.ctx, acme, "d"))
	require.NoError(t, f.Close())

	f = newFixture(t, open(t))
	require.Greater(t, f.create("d").ID, d.ID, "ids are not reused after a restart")
	require.NoError(t, f.Close())
}

// RunStartTogether opens one new store several times at once, each time as another process would, and checks that they share it.
func RunStartTogether(t *testing.T, open func(t *testing.T) (catalog.Catalog, error)) {
	t.Helper()
	const processes = 5
	var (
		mu     sync.Mutex
		opened []catalog.Catalog
		epochs = make(map[int64]bool)
	)
	together(processes, func(int) {
		c, err := open(t)
		if err != nil {
			t.Errorf("open: %v", err)
			return
		}
		w, err := c.StartWriter(t.Context(), "n", "")
		if err != nil {
			t.Errorf("start writer: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		opened = append(opened, c)
		epochs[w.Epoch] = true
	})
	require.Len(t, epochs, processes, "epochs are unique in the store")
	name := signal.Stream{Org: acme, Database: signal.DefaultDatabase, Signal: signal.Logs, Name: "s"}
	var first []catalog.Stream
	for _, c := range opened {
		s, err := c.EnsureStreams(t.Context(), []signal.Stream{name})
		require.NoError(t, err)
		if first == nil {
			first = s
		}
		require.Equal(t, first, s)
		require.NoError(t, c.Close())
	}
}
