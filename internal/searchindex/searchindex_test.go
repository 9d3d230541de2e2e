package searchindex_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/words"
)

func identity() searchindex.Identity {
	return searchindex.Identity{Key: "t1/a.parquet", Checksum: "xxh64:1"}
}

func reader(object []byte) searchindex.ReadRange {
	return func(_ context.Context, off int64, buf []byte) error {
		if off < 0 || off+int64(len(buf)) > int64(len(object)) {
			return io.ErrUnexpectedEOF
		}
		copy(buf, object[off:])
		return nil
	}
}

func open(t require.TestingT, object []byte) *searchindex.Index {
	x, err := searchindex.Open(context.Background(), reader(object), int64(len(object)), identity())
	require.NoError(t, err)
	return x
}

// TestNeverDenies checks the one promise on random texts of many scripts: a word that is there is admitted.
func TestNeverDenies(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.OneOf(
		rapid.RuneFrom([]rune("aAbBzZ019_ .-/äÄßéÉKſσςΣ世界語🙂é")), rapid.Rune(),
	))
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.SliceOfN(text, 0, 40), 1, 5).Draw(t, "groups")
		b := searchindex.NewBuilder([]string{"other", "message"})
		for _, values := range groups {
			for _, v := range values {
				b.Add(1, []byte(v))
			}
			b.EndRowGroup()
		}
		x := open(t, b.Finish(identity()))
		require.Equal(t, len(groups), x.RowGroups())
		for i, values := range groups {
			for _, v := range values {
				var folded []string
				for w := range words.Of(v) {
					folded = append(folded, words.Fold(w))
				}
				admitted, err := x.Groups(context.Background(), "message", folded)
				require.NoError(t, err)
				require.True(t, admitted[i], "%q in %q", folded, v)
			}
		}
		admitted, err := x.Groups(context.Background(), "missing", []string{"x"})
		require.NoError(t, err)
		require.NotContains(t, admitted, false)
	})
}

func TestAdmitsFewThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := searchindex.NewBuilder([]string{"message"})
	const groups, rows = 20, 2000
	for g := range groups {
		for i := range rows {
			b.Add(0, fmt.Appendf(nil, "request %d-%d served", g, g*rows+i))
		}
		b.EndRowGroup()
	}
	x := open(t, b.Finish(identity()))
	wrong := 0
	for i := range 500 {
		n := i * 80
		admitted, err := x.Groups(t.Context(), "message", []string{"request", fmt.Sprint(n)})
		require.NoError(t, err)
		require.True(t, admitted[n/rows])
		for g, yes := range admitted {
			if yes && g != n/rows {
				wrong++
			}
		}
	}
	require.Less(t, wrong, 500*groups/50, "about one in 256 is expected")
}

func TestLongWordsMatchEverything(t *testing.T) {
	t.Parallel()
	b := searchindex.NewBuilder([]string{"m"})
	long := strings.Repeat("x", 10_000)
	b.Add(0, []byte("a "+long))
	b.EndRowGroup()
	b.Add(0, []byte("b"))
	b.EndRowGroup()
	x := open(t, b.Finish(identity()))
	admitted, err := x.Groups(t.Context(), "m", []string{long})
	require.NoError(t, err)
	require.True(t, admitted[0])
	admitted, err = x.Groups(t.Context(), "m", []string{"zzz"})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, admitted)
}

func TestStaleAndDamaged(t *testing.T) {
	t.Parallel()
	b := searchindex.NewBuilder([]string{"m", "n"})
	for i := range 3000 {
		b.Add(0, fmt.Appendf(nil, "w%d", i))
		b.Add(1, []byte("level"))
	}
	b.EndRowGroup()
	object := b.Finish(identity())
	other := identity()
	other.Checksum = "xxh64:2"
	_, err := searchindex.Open(t.Context(), reader(object), int64(len(object)), other)
	require.ErrorIs(t, err, searchindex.ErrStale)

	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		damaged := append([]byte(nil), object...)
		damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
		x, err := searchindex.Open(t.Context(), reader(damaged), int64(len(damaged)), identity())
		if err != nil {
			require.True(t, fault.Is(err, fault.Corrupt), "%v", err)
			continue
		}
		_, errM := x.Groups(t.Context(), "m", []string{"w1"})
		_, errN := x.Groups(t.Context(), "n", []string{"level"})
		require.True(t, errM != nil || errN != nil, "a flipped bit is noticed")
	}
	for n := range headers {
		_, err := searchindex.Open(t.Context(), reader(object[:n]), int64(n), identity())
		require.Error(t, err)
	}
}

const headers = 60

func BenchmarkAdd(b *testing.B) {
	values := make([][]byte, 8192)
	size := 0
	for i := range values {
		values[i] = fmt.Appendf(nil,
			"2026-11-01 12:00:%02d INFO dfs.DataNode$PacketResponder: Received block blk_%d of size 67108864 from /10.250.%d.%d req=%d user=u%d",
			i%60, i*7919, i%255, i%199, i*31, i%1000)
		size += len(values[i])
	}
	x := searchindex.NewBuilder([]string{"m"})
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range values {
			x.Add(0, v)
		}
		x.EndRowGroup()
	}
}

// TestCheckSeesEveryDamagedByte: whatever byte is wrong, opening or checking says so.
func TestCheckSeesEveryDamagedByte(t *testing.T) {
	t.Parallel()
	b := searchindex.NewBuilder([]string{"a", "b"})
	for i := range 3 {
		for j := range 40 {
			b.Add(0, fmt.Appendf(nil, "word%d", i*100+j))
		}
		b.Add(1, []byte("few words"))
		b.EndRowGroup()
	}
	object := b.Finish(identity())
	require.NoError(t, open(t, object).Check(t.Context()))
	for i := range object {
		object[i] ^= 0x10
		x, err := searchindex.Open(t.Context(), reader(object), int64(len(object)), identity())
		if err == nil {
			err = x.Check(t.Context())
		}
		require.Error(t, err, "byte %d", i)
		object[i] ^= 0x10
	}
}
