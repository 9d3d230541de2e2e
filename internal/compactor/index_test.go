package compactor_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/searchindex"
)

// counting returns a compactor and its metrics.
func (p *plant) counting(c compactor.Catalog, s objstore.Store) (*compactor.Compactor, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return compactor.New(compactor.Options{StagingDir: p.TempDir()},
		compactor.Deps{Catalog: c, Objects: s, Files: p, Clock: p.clock, Registerer: reg}), reg
}

// issues returns what a reconciler has counted of a kind and reason.
func issues(t *testing.T, reg *prometheus.Registry, kind, reason string) int {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "storage_reconciler_issues_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == kind && m.GetLabel()[1].GetValue() == reason {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	require.Fail(t, "no such series")
	return 0
}

// requireIndexes checks that each live segment has an index object of its own, which admits the words of all its rows.
func (p *plant) requireIndexes() {
	p.Helper()
	for _, s := range p.live() {
		require.NotEmpty(p, s.IndexKey, "segment %d", s.ID)
		data, err := objstore.ReadAll(p.Context(), p.store, s.IndexKey)
		require.NoError(p, err)
		read := func(_ context.Context, off int64, buf []byte) error {
			_, err := io.ReadFull(io.NewSectionReader(bytes.NewReader(data), off, int64(len(buf))), buf)
			return err
		}
		x, err := searchindex.Open(p.Context(), read, s.Index, searchindex.Identity{Key: s.Key, Checksum: s.Checksum})
		require.NoError(p, err)
		require.Equal(p, s.RowGroups, x.RowGroups())
		require.True(p, x.Has("m"))
		found, err := x.Groups(p.Context(), "m", []string{"row"})
		require.NoError(p, err)
		require.NotContains(p, found, false)
		found, err = x.Groups(p.Context(), "m", []string{"nobody"})
		require.NoError(p, err)
		require.Contains(p, found, false)
	}
}

func TestSegmentsWithoutAnIndexGetOne(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for i := range 5 {
		p.flush(p.clock.Now().Add(time.Duration(i-5)*time.Hour), i*40, 40)
	}
	c, reg := p.counting(p.catalog, p.store)
	require.NoError(t, c.RebuildIndexes(t.Context()))
	p.requireIndexes()
	p.requireNoLeftovers()
	before := p.live()
	require.NoError(t, c.RebuildIndexes(t.Context()), "nothing is left to do")
	require.Equal(t, before, p.live())
	require.NoError(t, testutil.GatherAndCompare(reg, bytes.NewReader(fmt.Appendf(nil, `
# HELP millstream_compactor_rebuilt_indexes_total Search indexes that were built because they were missing or damaged.
# TYPE millstream_compactor_rebuilt_indexes_total counter
millstream_compactor_rebuilt_indexes_total %d
`, len(before))), "millstream_compactor_rebuilt_indexes_total"))
}

// TestMissingAndDamagedIndexesAreBuiltAgain: the reconciler finds them, the rebuild gives each a new object, and the old ones go as
// orphans do.
func TestMissingAndDamagedIndexesAreBuiltAgain(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.indexed = true
	for i := range 5 {
		p.flush(p.clock.Now().Add(time.Duration(i-5)*time.Hour), i*40, 40)
	}
	segments := p.live()
	require.NoError(t, p.store.Delete(t.Context(), segments[0].IndexKey))
	p.overwrite(segments[1].IndexKey, func(data []byte) []byte { data[len(data)-1] ^= 1; return data })
	p.overwrite(segments[2].IndexKey, func(data []byte) []byte { return data[:len(data)-1] })
	other, err := objstore.ReadAll(t.Context(), p.store, segments[4].IndexKey)
	require.NoError(t, err)
	p.overwrite(segments[3].IndexKey, func([]byte) []byte { return other })

	c, reg := p.counting(p.catalog, p.store)
	require.NoError(t, c.RebuildIndexes(t.Context()))
	require.Equal(t, segments, p.live(), "without a look at the objects nothing is known")
	require.NoError(t, c.Reconcile(t.Context()))
	require.Equal(t, segments, p.live(), "finding changes nothing")
	require.Equal(t, 1, issues(t, reg, "index", "missing"))
	require.Equal(t, 3, issues(t, reg, "index", "size")+issues(t, reg, "index", "checksum"))
	require.NoError(t, c.RebuildIndexes(t.Context()))
	p.requireIndexes()
	after := p.live()
	for i, s := range after {
		require.Equal(t, i == 4, s.IndexKey == segments[i].IndexKey, "segment %d has the index %s", i, s.IndexKey)
		s.IndexKey, s.Index = segments[i].IndexKey, segments[i].Index
		require.Equal(t, segments[i], s, "nothing else changes")
	}
	require.True(t, p.objects()[segments[1].IndexKey], "questions under way may have it open")
	p.age(segments[1].IndexKey)
	p.clock.Advance(time.Hour)
	require.NoError(t, c.Reconcile(t.Context()))
	require.False(t, p.objects()[segments[1].IndexKey])
	p.requireIndexes()
}

// age makes an object older than the grace of orphans.
func (p *plant) age(key string) {
	p.Helper()
	path, _ := p.store.LocalPath(key)
	old := p.clock.Now().Add(-compactor.DefaultOrphanGrace - time.Hour)
	require.NoError(p, os.Chtimes(path, old, old))
}

// overwrite changes the bytes of an object.
func (p *plant) overwrite(key string, change func([]byte) []byte) {
	p.Helper()
	data, err := objstore.ReadAll(p.Context(), p.store, key)
	require.NoError(p, err)
	data = change(data)
	require.NoError(p, p.store.Put(p.Context(), key, bytes.NewReader(data), int64(len(data))))
}

// TestSeveralRebuildOneIndex: all of them build, one publishes, the others drop theirs. Merges go on meanwhile.
func TestSeveralRebuildOneIndex(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for i := range 12 {
		p.flush(p.clock.Now().AddDate(0, 0, -i%3), i*20, 20)
	}
	var group sync.WaitGroup
	for i := range 4 {
		c := p.compactor(p.catalog)
		group.Go(func() {
			for range 3 {
				duty := c.RebuildIndexes
				if i == 3 {
					duty = c.Seal
				}
				if err := duty(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	p.requireOnce(240)
	c := p.compactor(p.catalog)
	require.NoError(t, c.RebuildIndexes(t.Context()))
	p.requireIndexes()
	p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	require.NoError(t, c.Delete(t.Context()))
	p.requireNoLeftovers()
}

// gone is a catalog whose segments are retired just before they get an index.
type gone struct {
	compactor.Catalog
	p *plant
}

func (g gone) SetIndex(ctx context.Context, id catalog.SegmentID, old, key string, size int64) error {
	if err := g.p.catalog.Replace(ctx, g.p.stream.Dataset, []catalog.SegmentID{id}, nil); err != nil {
		return err
	}
	return g.Catalog.SetIndex(ctx, id, old, key, size)
}

func TestAnIndexOfARetiredSegmentIsDropped(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.flush(p.clock.Now(), 0, 10)
	before := p.objects()
	require.NoError(t, p.compactor(gone{p.catalog, p}).RebuildIndexes(t.Context()))
	require.Equal(t, before, p.objects())
}
