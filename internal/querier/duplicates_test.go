package querier_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/querier"
)

func TestOverlaps(t *testing.T) {
	t.Parallel()
	type extent = querier.Extent
	for name, c := range map[string]struct {
		extents []extent
		want    [][2]int64
	}{
		"one":               {[]extent{{Start: 0, End: 9}}, nil},
		"apart":             {[]extent{{Start: 10, End: 19}, {Start: 0, End: 9}}, nil},
		"at one moment":     {[]extent{{Start: 0, End: 9}, {Start: 9, End: 19}}, [][2]int64{{9, 9}}},
		"inside":            {[]extent{{Start: 0, End: 9}, {Start: 3, End: 4}, {Start: 6, End: 7}}, [][2]int64{{3, 4}, {6, 7}}},
		"three at once":     {[]extent{{Start: 0, End: 9}, {Start: 3, End: 12}, {Start: 8, End: 20}}, [][2]int64{{3, 12}}},
		"other series":      {[]extent{{Start: 0, End: 9, Least: "a", Most: "c"}, {Start: 0, End: 9, Least: "d", Most: "e"}}, nil},
		"one shared series": {[]extent{{Start: 0, End: 9, Least: "a", Most: "c"}, {Start: 5, End: 9, Least: "c", Most: "e"}}, [][2]int64{{5, 9}}},
		"unknown series":    {[]extent{{Start: 0, End: 9, Least: "a", Most: "c"}, {Start: 5, End: 9}}, [][2]int64{{5, 9}}},
		"fresh ones":        {[]extent{{Start: 0, End: 9, Fresh: true}, {Start: 5, End: 12, Fresh: true}}, nil},
		"fresh and a file":  {[]extent{{Start: 0, End: 9}, {Start: 5, End: 12, Fresh: true}, {End: 7, Fresh: true}}, [][2]int64{{0, 9}}},
	} {
		require.Equal(t, c.want, querier.Overlaps(c.extents...), name)
	}
}

// However many extents there are, few ranges cover every moment that two of them share.
func TestOverlapsCoverWhatIsShared(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		extents := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) querier.Extent {
			start := rapid.Int64Range(0, 500).Draw(t, "start")
			return querier.Extent{Start: start, End: start + rapid.Int64Range(0, 5).Draw(t, "length")}
		}), 1, 200).Draw(t, "extents")
		found := querier.Overlaps(extents...)
		require.LessOrEqual(t, len(found), 32)
		covered := make(map[int64]bool)
		for i, o := range found {
			require.LessOrEqual(t, o[0], o[1])
			require.True(t, i == 0 || found[i-1][1] < o[0], "ascending and apart")
			for at := o[0]; at <= o[1]; at++ {
				covered[at] = true
			}
		}
		count := make(map[int64]int)
		for _, e := range extents {
			for at := e.Start; at <= e.End; at++ {
				count[at]++
			}
		}
		shared := 0
		for at, n := range count {
			require.True(t, n < 2 || covered[at], "%d is shared", at)
			if n >= 2 {
				shared++
			}
		}
		if len(found) < 32 {
			require.Len(t, covered, shared, "nothing else unless there are too many")
		}
	})
}
