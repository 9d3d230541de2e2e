package catalogtest

import (
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
)

func writerCases() []testCase {
	return []testCase{
		{"start, list, adopt and end", startAdoptEnd},
		{"epochs ascend over concurrent starts", epochsAscend},
		{"an adopted epoch of another store stays unique", adoptForeignEpoch},
		{"segment numbers are drawn once", segmentNumbers},
	}
}

func startAdoptEnd(f *fixture) {
	a, err := f.StartWriter(f.ctx, "node b", "b:1")
	require.NoError(f.t, err)
	require.Equal(f.t, "node b", a.Node)
	require.Equal(f.t, "b:1", a.Address)
	require.False(f.t, a.Started.IsZero())
	b, err := f.StartWriter(f.ctx, "Node'a%", "")
	require.NoError(f.t, err)
	require.Greater(f.t, b.Epoch, a.Epoch)
	c, err := f.StartWriter(f.ctx, "node b", "b:2")
	require.NoError(f.t, err)

	list := func() []catalog.Writer {
		out, err := f.Writers(f.ctx)
		require.NoError(f.t, err)
		return out
	}
	require.Equal(f.t, []catalog.Writer{b, a, c}, list(), "sorted by node and epoch")
	for range 2 { // adopting is idempotent
		require.NoError(f.t, f.AdoptWriter(f.ctx, "node b", a.Epoch, "b:9"))
	}
	a.Address = "b:9"
	require.Equal(f.t, []catalog.Writer{b, a, c}, list())
	for range 2 { // so is ending
		require.NoError(f.t, f.EndWriter(f.ctx, "node b", a.Epoch))
	}
	require.Equal(f.t, []catalog.Writer{b, c}, list())
	require.NoError(f.t, f.AdoptWriter(f.ctx, "node b", a.Epoch, ""))
	require.Len(f.t, list(), 3, "an ended epoch can be listed again")
}

func epochsAscend(f *fixture) {
	const starters, starts = 8, 5
	var (
		mu   sync.Mutex
		seen []int64
	)
	together(starters, func(int) {
		var last int64
		for range starts {
			w, err := f.StartWriter(f.ctx, "n", "")
			if err != nil || w.Epoch <= last {
				f.t.Errorf("epoch %d after %d: %v", w.Epoch, last, err)
				return
			}
			last = w.Epoch
			mu.Lock()
			seen = append(seen, w.Epoch)
			mu.Unlock()
		}
	})
	require.Len(f.t, slices.Compact(sorted(seen)), starters*starts)
	require.Positive(f.t, seen[0])
	require.Greater(f.t, f.start(), seen[len(seen)-1])
}

func adoptForeignEpoch(f *fixture) {
	first := f.start()
	require.NoError(f.t, f.AdoptWriter(f.ctx, "n", first+100, ""))
	require.Greater(f.t, f.start(), first+100)
	require.NoError(f.t, f.AdoptWriter(f.ctx, "n", first, ""))
	require.Greater(f.t, f.start(), first+101)
}

func segmentNumbers(f *fixture) {
	var (
		mu   sync.Mutex
		seen []catalog.SegmentID
	)
	together(8, func(i int) {
		for n := 1; n < 6; n++ {
			first, err := f.NextSegments(f.ctx, n)
			if err != nil {
				f.t.Errorf("draw %d by %d: %v", n, i, err)
				return
			}
			mu.Lock()
			for k := range n {
				seen = append(seen, first+catalog.SegmentID(k))
			}
			mu.Unlock()
		}
	})
	count := len(seen)
	require.Len(f.t, slices.Compact(sorted(seen)), count)
	require.Positive(f.t, seen[0])
	_, err := f.NextSegments(f.ctx, 0)
	require.Error(f.t, err)
}
