package searchindex_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/searchindex"
)

// TestCacheReadsOnce opens many indexes again and again: what is in the cache is not read again, and memory is bounded.
func TestCacheReadsOnce(t *testing.T) {
	t.Parallel()
	b := searchindex.NewBuilder([]string{"m", "n"})
	for i := range 3000 {
		b.Add(0, fmt.Appendf(nil, "w%d", i), 0)
		b.Add(1, fmt.Appendf(nil, "x%d", i), 0)
	}
	b.EndRowGroup()
	object := b.Finish(identity())
	c := searchindex.NewCache(int64(3 * len(object)))
	reads := 0
	read := func(ctx context.Context, off int64, buf []byte) error {
		reads++
		return reader(object)(ctx, off, buf)
	}
	ask := func(key string, read searchindex.ReadRange) {
		x, err := c.Open(t.Context(), key, int64(len(object)), identity(), read)
		require.NoError(t, err)
		for i, column := range []string{"m", "n"} {
			admitted, err := x.Groups(t.Context(), column, []string{fmt.Sprint(string("wx"[i]), 42)})
			require.NoError(t, err)
			require.Equal(t, []bool{true}, admitted)
		}
		require.NoError(t, x.Check(t.Context()))
	}
	ask("a", read)
	require.Equal(t, 6, reads, "head, directory, two columns, and those again for the check, which reads what is stored")
	for range 3 {
		reads = 0
		ask("a", read)
		require.Equal(t, 2, reads, "the check")
	}
	for i := range 10 {
		ask(fmt.Sprint("other", i), read)
	}
	reads = 0
	ask("a", read)
	require.Equal(t, 6, reads, "it had to go")

	other := identity()
	other.Checksum = "xxh64:2"
	_, err := c.Open(t.Context(), "a", int64(len(object)), other, read)
	require.ErrorIs(t, err, searchindex.ErrStale)
	broken := errors.New("broken")
	_, err = c.Open(t.Context(), "b", int64(len(object)), identity(), func(context.Context, int64, []byte) error { return broken })
	require.ErrorIs(t, err, broken)
	ask("b", read)
}
