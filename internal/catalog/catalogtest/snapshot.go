package catalogtest

import (
	"cmp"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
)

func snapshotCases() []testCase {
	return []testCase{
		{"time bounds prune", snapshotBounds},
		{"only what was asked, in order", snapshotOrder},
		{"unknown ids are left out", snapshotUnknown},
		{"ten thousand segments", snapshotLarge},
	}
}

func snapshotBounds(f *fixture) {
	s := f.both()
	epoch := f.start()
	p := f.part(s[0], 0, 1)
	p.Segments[0].MinTime, p.Segments[0].MaxTime = -100, 200
	f.commit("n", epoch, p, f.part(s[1], 0, 1))
	for _, c := range []struct {
		start, end int64
		found      bool
	}{
		{-1000, -101, false},
		{-1000, -100, false}, // end is exclusive
		{-1000, -99, true},
		{-100, -100, false}, // an empty range
		{0, 0, false},
		{0, 1, true},
		{200, 201, true}, // start and MaxTime are inclusive
		{201, 1000, false},
		{-1000, 1000, true},
		{1000, -1000, false},
	} {
		snap, err := f.Snapshot(f.ctx, catalog.SnapshotQuery{Datasets: []catalog.DatasetID{s[0].Dataset}, Start: c.start, End: c.end})
		require.NoError(f.t, err)
		require.Equal(f.t, c.found, len(snap.Segments) == 1, "[%d, %d)", c.start, c.end)
		require.Len(f.t, snap.Committed[s[0].Dataset], 1, "sequences do not depend on time")
		require.Len(f.t, snap.Versions, 1)
	}
}

func snapshotOrder(f *fixture) {
	s := f.both()
	third := f.logs(acme, "third")
	epoch := f.start()
	parts := []catalog.DatasetCommit{f.part(third, 0, 1), f.part(s[1], 0, 1), f.part(s[0], 0, 1)}
	times := []int64{5, -7, 5, 0}
	for i, stream := range []catalog.Stream{third, s[1], s[0]} {
		parts[i].Segments = f.segments(stream, len(times))
		for k, at := range times {
			parts[i].Segments[k].MinTime, parts[i].Segments[k].MaxTime = at, 9
		}
		f.reserve(stream, "z", "a")
	}
	f.commit("n", epoch, parts...)
	snap := f.snapshot(s[1], s[0])
	require.Len(f.t, snap.Segments, 2*len(times))
	require.True(f.t, slices.IsSortedFunc(snap.Segments, func(a, b catalog.Segment) int {
		return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.MinTime, b.MinTime), cmp.Compare(a.ID, b.ID))
	}))
	for _, g := range snap.Segments {
		require.NotEqual(f.t, third.Dataset, g.Dataset)
	}
	require.Len(f.t, snap.Committed, 2)
	require.Len(f.t, snap.Columns, 2)
	require.Equal(f.t, []string{"z", "a"}, physical(snap.Columns[s[0].ID]), "by id")
}

func snapshotUnknown(f *fixture) {
	s := f.both()
	snap := f.snapshot(catalog.Stream{ID: s[1].ID + 1000, Dataset: s[1].Dataset + 1000})
	require.Equal(f.t, catalog.Snapshot{
		Columns:   map[catalog.StreamID][]catalog.Column{},
		Committed: map[catalog.DatasetID]map[catalog.WriterKey]uint64{},
		Versions:  map[catalog.DatasetID]int64{},
	}, snap)
	snap, err := f.Snapshot(f.ctx, catalog.SnapshotQuery{})
	require.NoError(f.t, err)
	require.Empty(f.t, snap.Segments)
}

func snapshotLarge(f *fixture) {
	const n, hours = 10_000, 100
	s := f.both()
	epoch := f.start()
	parts := []catalog.DatasetCommit{{Dataset: s[0].Dataset, To: n, Segments: f.segments(s[0], n)}, f.part(s[1], 0, 1)}
	for i := range parts[0].Segments {
		g := &parts[0].Segments[i]
		g.MinTime = int64(i%hours) * 10
		g.MaxTime = g.MinTime + 9
	}
	f.commit("n", epoch, parts...)
	require.Len(f.t, f.snapshot(s[0]).Segments, n)
	snap, err := f.Snapshot(f.ctx, catalog.SnapshotQuery{Datasets: []catalog.DatasetID{s[0].Dataset}, Start: 995, End: 2000})
	require.NoError(f.t, err)
	require.Len(f.t, snap.Segments, n/hours)
}
