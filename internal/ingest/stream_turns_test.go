package ingest_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
)

// heldCatalog does not list the streams of one org before it may, and has room for none of another.
type heldCatalog struct {
	*sqlite.Catalog

	slow    tenant.ID
	listing chan struct{} // receives once for each list of slow's streams
	goOn    chan struct{} // closed: slow's streams are listed

	crowded tenant.ID
	tries   atomic.Int64 // to register streams of crowded
}

func (c *heldCatalog) Streams(ctx context.Context, org tenant.ID) ([]catalog.Stream, error) {
	if org == c.slow {
		c.listing <- struct{}{}
		select {
		case <-c.goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.Catalog.Streams(ctx, org)
}

func (c *heldCatalog) EnsureStreamsWithin(ctx context.Context, streams []signal.Stream, limit int) ([]catalog.Stream, error) {
	if streams[0].Org == c.crowded {
		c.tries.Add(1)
		return nil, catalog.ErrTooManyStreams
	}
	return c.Catalog.EnsureStreamsWithin(ctx, streams, limit)
}

// openHeld starts a component over the catalog.
func (s *store) openHeld(t *testing.T, c *heldCatalog) *ingest.Ingest {
	t.Helper()
	c.Catalog = s.catalog
	opts := ingest.Options{
		Node: "n1", StagingDir: s.dir, FlushInterval: time.Hour,
		WAL: wal.Options{Dir: filepath.Join(s.dir, "wal"), ReserveSize: -1},
	}
	maxStreams(5)(&opts)
	g := ingest.New(opts, ingest.Deps{Catalog: c, Objects: s.objects})
	require.NoError(t, g.Start(t.Context()))
	return g
}

func ofOrg(org tenant.ID, name string) *signal.Batch {
	s := stream(name)
	s.Org = org
	return batch(s, 0, 1)
}

// TestASlowCatalogKeepsNobodyElseWaiting has the catalog keep one org waiting: other orgs register streams meanwhile, and whoever waits
// behind the first leaves when its context ends.
func TestASlowCatalogKeepsNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	c := &heldCatalog{slow: "slow", listing: make(chan struct{}), goOn: make(chan struct{})}
	g := newStore(t, t.TempDir()).openHeld(t, c)
	writes := func(ctx context.Context, org tenant.ID, name string) chan error {
		done := make(chan error, 1)
		go func() {
			b := ofOrg(org, name)
			defer b.Release()
			done <- g.Write(ctx, b)
		}()
		return done
	}
	end := func(what string, done chan error) (err error) {
		t.Helper()
		select {
		case err = <-done:
		case <-time.After(30 * time.Second):
			require.FailNow(t, "it waits for the catalog's answer to somebody else", what)
		}
		return err
	}
	first := writes(t.Context(), "slow", "a")
	<-c.listing
	require.NoError(t, end("another org", writes(t.Context(), "quick", "a")))
	ctx, cancel := context.WithCancel(t.Context())
	second := writes(ctx, "slow", "b")
	cancel()
	err := end("one that left", second)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, ingest.IsRefused(err))

	close(c.goOn)
	require.NoError(t, end("the first", first))
	third := writes(t.Context(), "slow", "b")
	<-c.listing
	require.NoError(t, end("one after it", third))
	require.NoError(t, g.Close(t.Context()))
}

// TestStreamsThatOthersTakeEveryTime registers a stream for which others take the room each time that there is some.
func TestStreamsThatOthersTakeEveryTime(t *testing.T) {
	t.Parallel()
	c := &heldCatalog{crowded: "crowded"}
	g := newStore(t, t.TempDir()).openHeld(t, c)
	b := ofOrg("crowded", "a")
	defer b.Release()
	err := g.Write(t.Context(), b)
	require.ErrorIs(t, err, catalog.ErrTooManyStreams)
	require.True(t, ingest.IsRefused(err))
	require.True(t, fault.Is(err, fault.Limited), "%v", err)
	require.Equal(t, limits.StreamLimit, fault.Reason(err))
	require.Equal(t, time.Second, fault.RetryAfter(err))
	require.Equal(t, "other writers took the streams that org crowded had room for, 5 times in a row; it may have 5 "+
		"(limits.max_global_streams_per_user); send again", fault.Message(err))
	require.EqualValues(t, 5, c.tries.Load())
	require.NoError(t, g.Close(t.Context()))
}
