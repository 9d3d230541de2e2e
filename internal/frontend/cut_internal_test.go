package frontend

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCut(t *testing.T) {
	t.Parallel()
	at := func(h, m int) time.Time { return time.Date(2026, 11, 30, h, m, 0, 0, time.UTC) }
	require.Equal(t, []span{{at(1, 30), at(2, 0)}, {at(2, 0), at(3, 0)}, {at(3, 0), at(3, 10)}},
		cut(span{at(1, 30), at(3, 10)}, at(1, 30), at(3, 10), time.Hour))
	require.Equal(t, []span{{time.Time{}, at(2, 0)}, {at(2, 0), time.Time{}}}, cut(span{}, at(1, 0), at(3, 0), time.Hour), "ends stay open")
	require.Equal(t, []span{{at(1, 10), at(1, 20)}}, cut(span{at(1, 10), at(1, 20)}, at(1, 10), at(1, 20), time.Hour))
	require.Equal(t, []span{{at(2, 0), at(1, 0)}}, cut(span{at(2, 0), at(1, 0)}, at(2, 0), at(1, 0), time.Hour))
	parts := cut(span{at(0, 0), at(23, 0)}, at(0, 0), at(23, 0), time.Second)
	require.LessOrEqual(t, len(parts), maxParts+1)
	for i := 1; i < len(parts); i++ {
		require.Equal(t, parts[i-1].end, parts[i].start, "without gap and overlap")
	}
}
