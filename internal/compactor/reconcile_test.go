package compactor_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/objstore"
)

// TestReconcilerReportsAndRetiresNothing: data objects that are missing, cut or damaged are counted at every look, and their segments stay.
func TestReconcilerReportsAndRetiresNothing(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.indexed = true
	for i := range 5 {
		p.flush(p.clock.Now().Add(time.Duration(i-5)*time.Hour), i*10, 10)
	}
	segments := p.live()
	saved, err := objstore.ReadAll(t.Context(), p.store, segments[0].Key)
	require.NoError(t, err)
	require.NoError(t, p.store.Delete(t.Context(), segments[0].Key))
	p.overwrite(segments[1].Key, func(data []byte) []byte { return data[1:] })
	p.overwrite(segments[2].Key, func(data []byte) []byte { data[10] ^= 1; return data })
	c, reg := p.counting(p.catalog, p.store)
	for look := range 3 {
		require.NoError(t, c.Reconcile(t.Context()))
		require.NoError(t, c.Reconcile(t.Context()), "an org has its look once an hour")
		for _, reason := range []string{"missing", "size", "checksum"} {
			require.Equal(t, look+1, issues(t, reg, "segment", reason), reason)
			require.Zero(t, issues(t, reg, "index", reason), reason)
		}
		require.Equal(t, segments, p.live())
		p.clock.Advance(time.Hour)
	}
	p.overwriteMissing(segments[0].Key, saved)
	require.NoError(t, c.Reconcile(t.Context()))
	require.Equal(t, 3, issues(t, reg, "segment", "missing"), "it is back")
	require.Equal(t, 4, issues(t, reg, "segment", "size"))
}

func (p *plant) overwriteMissing(key string, data []byte) {
	p.Helper()
	path, _ := p.store.LocalPath(key)
	require.NoError(p, os.WriteFile(path, data, 0o600))
}

// TestDamagedFilesGetAnotherChance: what could not be read is merged after it has been put right.
func TestDamagedFilesGetAnotherChance(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for i := range 3 {
		p.flush(p.clock.Now().AddDate(0, 0, -2).Add(time.Duration(i)*time.Minute), i*10, 10)
	}
	s := p.live()[0]
	saved, err := objstore.ReadAll(t.Context(), p.store, s.Key)
	require.NoError(t, err)
	require.NoError(t, p.store.Delete(t.Context(), s.Key))
	c := p.compactor(p.catalog)
	require.Error(t, c.Seal(t.Context()))
	require.NoError(t, c.Seal(t.Context()))
	require.Len(t, p.live(), 2, "the others are merged without it")
	require.NoError(t, c.Reconcile(t.Context()))
	p.overwriteMissing(s.Key, saved)
	p.clock.Advance(time.Hour)
	require.NoError(t, c.Reconcile(t.Context()))
	require.NoError(t, c.Seal(t.Context()))
	require.Len(t, p.requireOnce(30), 1)
}

// hook is a store that does something before it lists or after it puts.
type hook struct {
	objstore.Store
	list, put func()
}

func (h hook) List(ctx context.Context, prefix string, visit func(objstore.Entry) error) error {
	if h.list != nil {
		h.list()
	}
	return h.Store.List(ctx, prefix, visit)
}

func (h hook) PutFile(ctx context.Context, key, path string) error {
	err := h.Store.PutFile(ctx, key, path)
	if h.put != nil {
		h.put()
	}
	return err
}

// TestSegmentsThatGoDuringALookAreNoIssue: between the catalog's picture and the listing they are merged, and their objects deleted.
func TestSegmentsThatGoDuringALookAreNoIssue(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for i := range 4 {
		p.flush(p.clock.Now().AddDate(0, 0, -2), i*10, 10)
	}
	other := p.compactor(p.catalog)
	c, reg := p.counting(p.catalog, hook{Store: p.store, list: func() {
		require.NoError(t, other.Seal(t.Context()))
		p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
		require.NoError(t, other.Delete(t.Context()))
	}})
	require.NoError(t, c.Reconcile(t.Context()))
	require.Zero(t, issues(t, reg, "segment", "missing"))
	p.requireOnce(40)
	p.requireNoLeftovers()
}

// TestSlowUpload is case K06 of the public reports: an upload that has taken so long that its object may pass for an orphan is not
// registered, and the sources stay.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for i := range 4 {
		p.flush(p.clock.Now().AddDate(0, 0, -2), i*10, 10)
	}
	before := p.live()
	slow, _ := p.counting(p.catalog, hook{Store: p.store, put: func() { p.clock.Advance(compactor.DefaultOrphanGrace / 2) }})
	require.Error(t, slow.Seal(t.Context()))
	require.Equal(t, before, p.live())
	p.requireNoLeftovers()
	require.NoError(t, p.compactor(p.catalog).Seal(t.Context()))
	require.Len(t, p.requireOnce(40), 1)
}

// TestTwoReconcilersAndAWriter is case K06 of the public reports: two look at the store at once, again and again, while files are flushed,
// merged and deleted. Old leftovers go; objects that are registered, old ones too, and such as are about to be stay.
func TestTwoReconcilersAndAWriter(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.indexed = true
	p.clock.Advance(time.Since(p.clock.Now())) // the times of objects are the machine's
	leftovers := []string{"t1/logs/9/a.parquet", "t1/logs/9/a.index", "t9/logs/1/b.parquet"}
	for _, key := range leftovers {
		require.NoError(t, p.store.Put(t.Context(), key, strings.NewReader("x"), 1))
		p.age(key)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := p.compactor(p.catalog).Reconcile(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	c := p.compactor(p.catalog)
	day := p.clock.Now().AddDate(0, 0, -2).Truncate(24 * time.Hour)
	for i := range 20 {
		p.flush(day.Add(time.Duration(i)*time.Hour), i*10, 10)
		for _, s := range p.live() {
			p.age(s.Key)
			p.age(s.IndexKey)
		}
		if i%5 == 4 {
			require.NoError(t, c.Seal(t.Context()))
			p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
			require.NoError(t, c.Delete(t.Context()))
		}
	}
	close(stop)
	group.Wait()
	p.requireOnce(200)
	for _, key := range leftovers {
		require.False(t, p.objects()[key], key)
	}
	p.requireNoLeftovers()
}
