package promstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/promstore"
)

func set(i int) string { return fmt.Sprintf(`{"i":"%d"}`, i) }

func text(i int) string { return fmt.Sprintf(`{__name__="m", i="%d"}`, i) }

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	t.Parallel()
	c := promstore.NewCache(1700) // four blocks of one series, 400 bytes or so each
	ask := func(segment int) bool {
		found, loaded, err := c.Block(catalog.SegmentID(segment), 0, set(segment))
		require.NoError(t, err)
		require.Equal(t, []string{text(segment)}, found)
		return loaded
	}
	for i := range 4 {
		require.True(t, ask(i))
	}
	require.False(t, ask(0))
	require.True(t, ask(9), "the fifth drives out the second, since the first was used again")
	require.False(t, ask(0))
	require.True(t, ask(1))
	for i := range 1000 {
		ask(10 + i)
	}
	bytes, items, series, ids := c.Held()
	require.LessOrEqual(t, bytes, int64(1700))
	require.Equal(t, items, series, "series without a block are gone")
	require.Less(t, ids, 10, "ids are used again")
}

func TestCacheSharesSeries(t *testing.T) {
	t.Parallel()
	c := promstore.NewCache(1 << 20)
	for segment := range 10 {
		_, _, err := c.Block(catalog.SegmentID(segment), 0, set(1), set(2), set(1))
		require.NoError(t, err)
	}
	_, _, series, ids := c.Held()
	require.Equal(t, []int{2, 2}, []int{series, ids})
}

func TestCacheWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{-1, 1, 100} {
		c := promstore.NewCache(limit)
		for range 3 {
			found, loaded, err := c.Block(1, 0, set(1), set(2))
			require.NoError(t, err)
			require.True(t, loaded)
			require.Equal(t, []string{text(1), text(2)}, found)
		}
		bytes, items, series, _ := c.Held()
		require.Zero(t, bytes)
		require.Zero(t, items+series)
	}
}

func TestCacheForgetsWhatFailed(t *testing.T) {
	t.Parallel()
	c := promstore.NewCache(1 << 20)
	_, _, err := c.Block(1, 0, set(1), `{"i":`)
	require.ErrorContains(t, err, "label set")
	bytes, items, series, _ := c.Held()
	require.Zero(t, bytes)
	require.Zero(t, items+series)
}

func TestCacheIsShared(t *testing.T) {
	t.Parallel()
	c := promstore.NewCache(5000)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 500 {
				n := (i*7 + w) % 40
				found, _, err := c.Block(catalog.SegmentID(n), 0, set(n), set(n+1))
				if err != nil || len(found) != 2 || found[0] != text(n) || found[1] != text(n+1) {
					t.Errorf("block %d: %v, %v", n, found, err)
				}
			}
		})
	}
	workers.Wait()
	bytes, items, _, _ := c.Held()
	require.LessOrEqual(t, bytes, int64(5000))
	require.Positive(t, items)
}
