package promstore_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

type point struct {
	t int64
	v float64
}

// walk reads floats from an iterator's first sample on.
func walk(t require.TestingT, it chunkenc.Iterator, typ chunkenc.ValueType) (out []point) {
	for ; typ != chunkenc.ValNone; typ = it.Next() {
		require.Equal(t, chunkenc.ValFloat, typ)
		at, v := it.At()
		require.Equal(t, at, it.AtT())
		out = append(out, point{at, v})
	}
	require.NoError(t, it.Err())
	return out
}

func points(t require.TestingT, s storage.Series) []point {
	it := s.Iterator(nil)
	return walk(t, it, it.Next())
}

// Of the samples at one time the last one of the greatest version is there, whatever order and shape the pieces have.
func TestPiecesAreMerged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type sample struct {
			version int64
			v       float64
		}
		want := make(map[int64]sample)
		var pieces []promstore.Piece
		sorted := rapid.Bool().Draw(t, "sorted pieces")
		value := 0.0
		for i := range rapid.IntRange(1, 5).Draw(t, "pieces") {
			p := promstore.Piece{Version: rapid.Int64Range(1, 3).Draw(t, "version")}
			times := rapid.SliceOfN(rapid.Int64Range(int64(5*i), int64(5*i)+10), 1, 8).Draw(t, "times")
			if sorted {
				slices.Sort(times)
			}
			for _, at := range times {
				value++
				p.Points = append(p.Points, promstore.Point{T: at, V: value})
				if p.Version >= want[at].version {
					want[at] = sample{p.Version, value}
				}
			}
			pieces = append(pieces, p)
		}
		var all []point
		for _, at := range slices.Sorted(maps.Keys(want)) {
			all = append(all, point{at, want[at].v})
		}
		require.Equal(t, all, points(t, promstore.Series(-1, pieces...)))

		// From a time on, by Next and by Seek, with an iterator that is used again.
		from := rapid.Int64Range(-1, 40).Draw(t, "from")
		visible := all[slices.IndexFunc(append(all, point{t: 1000}), func(p point) bool { return p.t >= from }):]
		s := promstore.Series(from, pieces...)
		it := s.Iterator(promstore.Series(-1, pieces[0]).Iterator(nil))
		require.Len(t, walk(t, it, it.Next()), len(visible))
		it = s.Iterator(it)
		at := int64(-1)
		for range rapid.IntRange(1, 6).Draw(t, "seeks") {
			target := rapid.Int64Range(-1, 40).Draw(t, "target")
			typ := it.Seek(target)
			at = max(at, target)
			rest := visible[slices.IndexFunc(append(visible, point{t: 1000}), func(p point) bool { return p.t >= at }):]
			if len(rest) == 0 {
				require.Equal(t, chunkenc.ValNone, typ)
				return
			}
			require.Equal(t, chunkenc.ValFloat, typ)
			require.Equal(t, rest[0].t, it.AtT())
			at = it.AtT()
			if rapid.Bool().Draw(t, "go on") {
				require.Equal(t, rest, walk(t, it, typ))
				return
			}
		}
	})
}

// A histogram says that no counter was reset only when the sample before it is known and does not contradict; one that lies before the
// wanted time serves as that sample, and is not shown.
func TestHistogramsTellOfResets(t *testing.T) {
	t.Parallel()
	stored := func(list ...*histogram.Histogram) (out []promstore.Point) {
		for _, h := range list {
			out = append(out, promstore.Point{H: nativehist.Append(nil, h)})
		}
		return out
	}
	type hints = []histogram.CounterResetHint
	grown := tsdbutil.GenerateTestHistograms(4)
	gauge := tsdbutil.GenerateTestGaugeHistograms(1)[0]
	declared := grown[3].Copy()
	declared.CounterResetHint = histogram.CounterReset
	const unknown, not, isGauge = histogram.UnknownCounterReset, histogram.NotCounterReset, histogram.GaugeType
	for name, c := range map[string]struct {
		from   int64
		points []promstore.Point
		want   hints
	}{
		"grows":              {0, stored(grown[:3]...), hints{unknown, not, not}},
		"begins later":       {1, stored(grown[:3]...), hints{not, not}},
		"falls":              {0, stored(grown[2], grown[0]), hints{unknown, unknown}},
		"declared":           {0, stored(grown[0], declared), hints{unknown, unknown}},
		"gauges":             {0, stored(gauge, gauge), hints{isGauge, isGauge}},
		"after a gauge":      {0, stored(gauge, grown[1]), hints{isGauge, unknown}},
		"a float in between": {0, append(stored(grown[0]), promstore.Point{V: 1}, stored(grown[1])[0]), hints{unknown, unknown}},
	} {
		for _, split := range []bool{false, true} { // the samples lie in one piece, or each in its own
			var pieces []promstore.Piece
			for i := range c.points {
				c.points[i].T = int64(i)
				if split {
					pieces = append(pieces, promstore.Piece{Version: int64(i), Points: c.points[i : i+1]})
				}
			}
			if !split {
				pieces = []promstore.Piece{{Points: c.points}}
			}
			var found hints
			it := promstore.Series(c.from, pieces...).Iterator(nil)
			for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
				if typ == chunkenc.ValHistogram {
					at, h := it.AtHistogram(nil)
					require.GreaterOrEqual(t, at, c.from)
					_, f := it.AtFloatHistogram(nil)
					require.Equal(t, h.CounterResetHint, f.CounterResetHint)
					require.True(t, h.ToFloat(nil).Equals(f))
					found = append(found, h.CounterResetHint)
				}
			}
			require.NoError(t, it.Err())
			require.Equal(t, c.want, found, "%s, split %v", name, split)
		}
	}
}

// A damaged histogram ends the series with an error.
func TestDamagedHistogram(t *testing.T) {
	t.Parallel()
	it := promstore.Series(0, promstore.Piece{Points: []promstore.Point{{T: 1, H: []byte(`{"schema":`)}}}).Iterator(nil)
	require.NotEqual(t, chunkenc.ValNone, it.Next())
	_, _ = it.AtFloatHistogram(nil)
	require.Error(t, it.Err())
	require.Equal(t, chunkenc.ValNone, it.Next())
}
