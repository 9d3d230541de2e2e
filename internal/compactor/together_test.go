package compactor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// TestThreeCompactorsLoop is case K01 of the public reports: thirty small files over 24 hours, three compactors that look again and again,
// and whoever counts gets the same count at any moment.
func TestThreeCompactorsLoop(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.indexed = true
	const files, rows = 30, 10
	day := p.clock.Now().AddDate(0, 0, -2)
	for i := range files {
		p.flush(day.Add(time.Duration(i)*48*time.Minute), i*rows, rows)
	}
	stop := make(chan struct{})
	var compactors, counter sync.WaitGroup
	counter.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var count int64
			for _, s := range p.live() {
				count += s.Rows
			}
			if count != files*rows {
				t.Errorf("count is %d", count)
			}
		}
	})
	for range 3 {
		c := compactor.New(compactor.Options{StagingDir: t.TempDir(), MaxConcurrentGroups: 8},
			compactor.Deps{Catalog: p.catalog, Objects: p.store, Files: p, Clock: p.clock})
		compactors.Go(func() {
			for range 4 {
				for _, duty := range []func(context.Context) error{c.Compact, c.Seal, c.RebuildIndexes, c.Delete} {
					if err := duty(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	compactors.Wait()
	close(stop)
	counter.Wait()
	require.LessOrEqual(t, len(p.requireOnce(files*rows)), 4, "two days")
	p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	require.NoError(t, p.compactor(p.catalog).Delete(t.Context()))
	p.requireNoLeftovers()
}

// gate is a Files that holds merges until as many wait as are expected.
type gate struct {
	*plant
	mu      sync.Mutex
	running int
	most    int
	full    chan struct{} // closed when most has reached want
	want    int
}

func (g *gate) Pin(ctx context.Context, segments []catalog.Segment) ([]string, func(), error) {
	g.mu.Lock()
	g.running++
	if g.running > g.most {
		if g.most = g.running; g.most == g.want {
			close(g.full)
		}
	}
	g.mu.Unlock()
	select {
	case <-g.full:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	paths, release, err := g.plant.Pin(ctx, segments)
	return paths, func() {
		g.mu.Lock()
		g.running--
		g.mu.Unlock()
		release()
	}, err
}

// streams makes n streams with three files of a closed day each.
func (p *plant) streams(n int) {
	p.Helper()
	day := p.clock.Now().AddDate(0, 0, -2)
	for i := range n {
		streams, err := p.catalog.EnsureStreams(p.Context(), []signal.Stream{logs("t1", fmt.Sprint("s", i))})
		require.NoError(p, err)
		p.stream, p.seq = streams[0], 0
		for j := range 3 {
			p.flush(day.Add(time.Duration(j)*time.Minute), j*10, 10)
		}
	}
}

// TestMergesOfSeveralDatasetsRunAtOnce: as many as the option says, and no more.
func TestMergesOfSeveralDatasetsRunAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.streams(7)
	g := &gate{plant: p, full: make(chan struct{}), want: 3}
	c := compactor.New(compactor.Options{StagingDir: t.TempDir(), MaxConcurrentGroups: 3},
		compactor.Deps{Catalog: p.catalog, Objects: p.store, Files: g, Clock: p.clock})
	require.NoError(t, c.Seal(t.Context()))
	require.Equal(t, 3, g.most)
	datasets, err := p.catalog.Datasets(t.Context(), "")
	require.NoError(t, err)
	for _, d := range datasets {
		p.stream.Dataset = d.ID
		require.Len(t, p.requireOnce(30), 1)
	}
}

// TestMemoryLimitShortensMerges: with room for few row groups, two files are merged at a time, one merge after the other, until a day has
// its one file.
func TestMemoryLimitShortensMerges(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	day := p.clock.Now().AddDate(0, 0, -2)
	for i := range 6 {
		p.flush(day.Add(time.Duration(i)*time.Minute), i*10, 10)
	}
	sizes := &sizes{Catalog: p.catalog}
	c := compactor.New(compactor.Options{StagingDir: t.TempDir(), MemoryLimit: 1 << 20},
		compactor.Deps{Catalog: sizes, Objects: p.store, Files: p, Clock: p.clock})
	for range 5 {
		require.NoError(t, c.Seal(t.Context()))
	}
	require.Equal(t, []int{2, 2, 2, 2, 2}, sizes.replaced)
	require.Len(t, p.requireOnce(60), 1)
}

// sizes notes how many files each merge takes.
type sizes struct {
	compactor.Catalog
	replaced []int
}

func (s *sizes) Replace(ctx context.Context, d catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error {
	s.replaced = append(s.replaced, len(old))
	return s.Catalog.Replace(ctx, d, old, added)
}

// view is a source of the view of two compactors.
type view struct{}

func (view) Current() *cluster.View {
	var listed []cluster.Listed
	for _, id := range []string{"c1", "c2"} {
		n := cluster.Node{ID: id, Roles: []cluster.Role{cluster.RoleCompactor}}
		listed = append(listed, cluster.Listed{Node: n, Active: n.Roles})
	}
	return cluster.NewView(1, cluster.Algo, listed)
}

// TestEveryKindOfWorkIsDivided: two compactors own each dataset and each org once, by every kind, and each does its own share alone.
func TestEveryKindOfWorkIsDivided(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.streams(8)
	for i := range 5 {
		p.segment(logs("t1", fmt.Sprint("other", i)), day)
		p.segment(logs(tenant.ID(fmt.Sprint("org", i)), "s"), time.Hour)
	}
	const datasets, orgs = 8 + 5 + 5, 1 + 5
	want := map[string]float64{
		work.Compaction: datasets, work.PartitionManifest: datasets, work.IndexRebuild: orgs, work.StorageReconciler: orgs,
	}
	sum := make(map[string]float64)
	for _, id := range []string{"c1", "c2"} {
		reg := prometheus.NewRegistry()
		division := work.New(work.Options{Role: cluster.RoleCompactor, Self: id, Source: view{}, Metrics: work.NewMetrics(reg)})
		before := p.mergedSegments()
		c := compactor.New(compactor.Options{StagingDir: t.TempDir()}, compactor.Deps{
			Catalog: p.catalog, Division: division, Objects: p.store, Files: p, Clock: p.clock,
		})
		for _, duty := range []func(context.Context) error{c.Compact, c.Seal, c.Reconcile, c.RebuildIndexes} {
			_ = duty(t.Context()) // the rig's segments have no files
		}
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() != "work_ownership_owned_units" {
				continue
			}
			for _, m := range f.GetMetric() {
				require.Positive(t, m.GetGauge().GetValue())
				sum[m.GetLabel()[0].GetValue()] += m.GetGauge().GetValue()
			}
		}
		require.Greater(t, p.mergedSegments(), before, "%s has merged", id)
	}
	require.Equal(t, want, sum)
	require.Equal(t, 8, p.mergedSegments())
}

// mergedSegments returns how many datasets have a merged file.
func (p *plant) mergedSegments() (merged int) {
	p.Helper()
	datasets, err := p.catalog.Datasets(p.Context(), "")
	require.NoError(p, err)
	for _, d := range datasets {
		snap, err := p.catalog.Snapshot(p.Context(), catalog.SnapshotQuery{Datasets: []catalog.DatasetID{d.ID}, Start: -1 << 62, End: 1 << 62})
		require.NoError(p, err)
		for _, s := range snap.Segments {
			if s.Level > 0 {
				merged++
			}
		}
	}
	return merged
}
