package searchindex_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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
			for row, v := range values {
				b.Add(1, []byte(v), searchindex.SliceOf(row, len(values)))
			}
			b.AddBytes(1, rapid.SampledFrom([]int{0, 1 << 20}).Draw(t, "bytes"))
			b.EndRowGroup()
		}
		x := open(t, b.Finish(identity()))
		require.Equal(t, len(groups), x.RowGroups())
		for i, values := range groups {
			for row, v := range values {
				var folded []string
				for w := range words.Of(v) {
					folded = append(folded, words.Fold(w))
				}
				admitted, err := x.Groups(context.Background(), "message", folded)
				require.NoError(t, err)
				require.True(t, admitted[i], "%q in %q", folded, v)
				slices, err := x.Slices(context.Background(), "message", folded)
				require.NoError(t, err)
				require.NotZero(t, slices[i]>>searchindex.SliceOf(row, len(values))&1, "%q in row %d of %d", folded, row, len(values))
			}
		}
		admitted, err := x.Groups(context.Background(), "missing", []string{"x"})
		require.NoError(t, err)
		require.NotContains(t, admitted, false)
	})
}

func TestAdmitsFewThatAreNotThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bytes, most int }{{0, 500 * 20 / 50}, {1 << 20, 500 * 20 / 20}} { // about one in 256, in 32
		admitsFew(t, c.bytes, c.most)
	}
}

func admitsFew(t *testing.T, bytes, most int) {
	t.Helper()
	b := searchindex.NewBuilder([]string{"message"})
	const groups, rows = 20, 2000
	for g := range groups {
		b.AddBytes(0, bytes)
		for i := range rows {
			b.Add(0, fmt.Appendf(nil, "request %d-%d served", g, g*rows+i), searchindex.SliceOf(i, rows))
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
	require.Less(t, wrong, most)
}

func TestLongWordsMatchEverything(t *testing.T) {
	t.Parallel()
	b := searchindex.NewBuilder([]string{"m"})
	long := strings.Repeat("x", 10_000)
	b.Add(0, []byte("a "+long), 0)
	b.EndRowGroup()
	b.Add(0, []byte("b"), 0)
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
	b.AddBytes(0, 1<<20)
	for i := range 3000 {
		b.Add(0, fmt.Appendf(nil, "w%d", i), 1)
		b.Add(1, []byte("level"), 2)
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
			x.Add(0, v, 3)
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
			b.Add(0, fmt.Appendf(nil, "word%d", i*100+j), 4)
		}
		b.Add(1, []byte("few words"), 5)
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

// TestSaysTheSlice: of a word that is in one slice of a row group it says which.
func TestSaysTheSlice(t *testing.T) {
	t.Parallel()
	const rows = 2000
	for _, unique := range []int{1, rows} { // a list, and a map
		b := searchindex.NewBuilder([]string{"m"})
		b.AddBytes(0, 1<<20)
		for row := range rows {
			b.Add(0, fmt.Appendf(nil, "request %d", row/(rows/unique)), searchindex.SliceOf(row, rows))
		}
		b.EndRowGroup()
		x := open(t, b.Finish(identity()))
		common, err := x.Slices(t.Context(), "m", []string{"request"})
		require.NoError(t, err)
		require.Equal(t, []uint8{searchindex.AllSlices}, common)
		for row := 0; unique > 1 && row < rows; row += 7 {
			got, err := x.Slices(t.Context(), "m", []string{"request", fmt.Sprint(row)})
			require.NoError(t, err)
			require.Equal(t, []uint8{1 << searchindex.SliceOf(row, rows)}, got)
		}
	}
	for _, rows := range []int{1, 3, 7, 8, 1000, 8192} {
		at := 0
		for slice := range searchindex.Slices {
			start, end := searchindex.SliceRows(slice, rows)
			require.Equal(t, at, start)
			for ; at < end; at++ {
				require.EqualValues(t, slice, searchindex.SliceOf(at, rows))
			}
		}
		require.Equal(t, rows, at)
	}
}

// TestShippedVersion reads the index of version 1 that stays in testdata.
func TestShippedVersion(t *testing.T) {
	t.Parallel()
	object, err := os.ReadFile(filepath.Join("testdata", "v1.index"))
	require.NoError(t, err)
	x := open(t, object)
	require.NoError(t, x.Check(t.Context()))
	for i := range 600 {
		slices, err := x.Slices(t.Context(), "message", []string{"request", fmt.Sprint("r", i)})
		require.NoError(t, err)
		require.EqualValues(t, searchindex.AllSlices, slices[i/200])
	}
	slices, err := x.Slices(t.Context(), "level", []string{"warn"})
	require.NoError(t, err)
	require.Equal(t, []uint8{0, searchindex.AllSlices, 0}, slices)
}
