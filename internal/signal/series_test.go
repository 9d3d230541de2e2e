package signal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/signal"
)

// Whatever order series come in, each has one number, and they are given without a gap.
func TestSeriesNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var numbers signal.SeriesNumbers
		want := make(map[signal.Series]int32)
		for _, i := range rapid.SliceOf(rapid.IntRange(0, 8)).Draw(t, "rows") {
			x := signal.Series{Metric: string(rune('a' + i%2)), Labels: string(rune('a' + i/2))}
			n, ok := want[x]
			if !ok {
				n = int32(len(want))
				want[x] = n
			}
			require.Equal(t, n, numbers.Of(x))
			require.Equal(t, x, numbers.Series(n))
		}
		require.Equal(t, len(want), numbers.Len())
	})
}
