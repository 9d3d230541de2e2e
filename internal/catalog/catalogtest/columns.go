package catalogtest

import (
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

func columnCases() []testCase {
	return []testCase{
		{"reserve gives ids and keeps them", reserveColumns},
		{"names that differ in case get a suffix", columnsInCase},
		{"hostile names", hostileColumns},
		{"types are published and joined by commits", publishTypes},
		{"types of unknown columns are refused", publishUnknown},
	}
}

func (f *fixture) reserve(s catalog.Stream, names ...string) []catalog.Column {
	f.t.Helper()
	out, err := f.ReserveColumns(f.ctx, s.ID, names)
	require.NoError(f.t, err)
	stored, err := f.Columns(f.ctx, s.ID)
	require.NoError(f.t, err)
	require.Equal(f.t, stored, out, "reserve returns all columns by id")
	return out
}

func physical(columns []catalog.Column) (out []string) {
	for _, c := range columns {
		out = append(out, c.Physical)
	}
	return out
}

func reserveColumns(f *fixture) {
	s := f.both()
	_, err := f.ReserveColumns(f.ctx, s[1].ID+1000, []string{"a"})
	require.ErrorIs(f.t, err, catalog.ErrNoStream)
	require.Empty(f.t, f.reserve(s[0]))
	want := []catalog.Column{{ID: 1, Name: "b", Physical: "b"}, {ID: 2, Name: "a", Physical: "a"}}
	require.Equal(f.t, want, f.reserve(s[0], "b", "a", "b"))
	require.Equal(f.t, want, f.reserve(s[0], "a"))
	want = append(want, catalog.Column{ID: 3, Name: "c", Physical: "c"})
	require.Equal(f.t, want, f.reserve(s[0], "c", "b"))
	require.Equal(f.t, []catalog.Column{{ID: 1, Name: "c", Physical: "c"}}, f.reserve(s[1], "c"), "streams have their own")
}

func columnsInCase(f *fixture) {
	s := f.both()
	require.Equal(f.t, []string{"userName", "username__2"}, physical(f.reserve(s[0], "userName", "username")))
	require.Equal(f.t, []string{"userName", "username__2", "USERNAME__3"}, physical(f.reserve(s[0], "USERNAME")))
	got := f.reserve(s[0], "username__2", "Username__4", "UserName")
	require.Equal(f.t, []string{"userName", "username__2", "USERNAME__3", "username__2__2", "Username__4", "UserName__5"}, physical(got))
	require.Equal(f.t, "username__2", got[3].Name, "the user's name stays as it is")

	got = f.reserve(s[1], "username__2", "userName", "username")
	require.Equal(f.t, []string{"username__2", "userName", "username__3"}, physical(got), "the order of first sight decides")
}

func hostileColumns(f *fixture) {
	s := f.logs(acme, "s")
	names := append(hostile(), "nul\x00a", "nul\x00b", "bad\xff", "bad\xfe", "")
	got := f.reserve(s, names...)
	require.Len(f.t, got, len(names))
	seen := make(map[string]bool)
	for i, c := range got {
		require.Equal(f.t, names[i], c.Name)
		require.NotEmpty(f.t, c.Physical)
		require.NotContains(f.t, c.Physical, "\x00")
		require.False(f.t, seen[c.Physical], c.Physical)
		seen[c.Physical] = true
		if i < len(hostile()) {
			require.Equal(f.t, names[i], c.Physical)
		}
	}
	require.Equal(f.t, got, f.reserve(s, names...))
}

func publishTypes(f *fixture) {
	s := f.both()
	epoch := f.start()
	f.reserve(s[0], "a", "b")
	f.reserve(s[1], "a")
	round := func(s catalog.Stream, from uint64, columns map[catalog.ColumnID]signal.TypeSet) catalog.DatasetCommit {
		p := f.part(s, from, from+1)
		p.Columns = []catalog.PublishedColumns{{Stream: s.ID, Columns: columns}}
		return p
	}
	types := func(s catalog.Stream) (out []signal.TypeSet) {
		inSnapshot := f.snapshot(s).Columns[s.ID]
		stored, err := f.Columns(f.ctx, s.ID)
		require.NoError(f.t, err)
		require.Equal(f.t, stored, inSnapshot)
		for _, c := range stored {
			out = append(out, c.Types)
		}
		return out
	}
	require.Equal(f.t, []signal.TypeSet{0, 0}, types(s[0]))
	f.commit("n", epoch, round(s[0], 0, map[catalog.ColumnID]signal.TypeSet{1: signal.SetOf(signal.Int64)}))
	require.Equal(f.t, []signal.TypeSet{signal.SetOf(signal.Int64), 0}, types(s[0]))
	set := signal.SetOf(signal.Float64) | signal.InexactInt
	f.commit("n", epoch, round(s[0], 1, map[catalog.ColumnID]signal.TypeSet{1: set, 2: signal.SetOf(signal.JSON)}))
	require.Equal(f.t, []signal.TypeSet{signal.SetOf(signal.Int64) | set, signal.SetOf(signal.JSON)}, types(s[0]))

	stale := round(s[0], 7, map[catalog.ColumnID]signal.TypeSet{2: signal.SetOf(signal.Bool)})
	fresh := round(s[1], 0, map[catalog.ColumnID]signal.TypeSet{1: signal.SetOf(signal.Bool)})
	results := f.commit("n", epoch, stale, fresh)
	require.Equal(f.t, catalog.Stale, results[0].Outcome)
	want := []signal.TypeSet{signal.SetOf(signal.Int64) | set, signal.SetOf(signal.JSON)}
	require.Equal(f.t, want, types(s[0]), "a refused part publishes nothing")
	require.Equal(f.t, []signal.TypeSet{signal.SetOf(signal.Bool)}, types(s[1]))
}

func publishUnknown(f *fixture) {
	s := f.both()
	epoch := f.start()
	f.reserve(s[0], "a")
	f.reserve(s[1], "a")
	for name, p := range map[string]catalog.PublishedColumns{
		"no such column":                {Stream: s[0].ID, Columns: map[catalog.ColumnID]signal.TypeSet{2: 2}},
		"no such stream":                {Stream: s[1].ID + 1000, Columns: map[catalog.ColumnID]signal.TypeSet{1: 2}},
		"a stream of another dataset":   {Stream: s[1].ID, Columns: map[catalog.ColumnID]signal.TypeSet{1: 2}},
		"one known and one unknown one": {Stream: s[0].ID, Columns: map[catalog.ColumnID]signal.TypeSet{1: 2, 3: 2}},
	} {
		part := f.part(s[0], 0, 1)
		part.Columns = []catalog.PublishedColumns{p}
		_, err := f.Commit(f.ctx, catalog.Commit{Node: "n", Epoch: epoch, Datasets: []catalog.DatasetCommit{f.part(s[1], 0, 1), part}})
		require.True(f.t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
		require.Empty(f.t, f.live(s[0], s[1]), "%s: the round failed as a whole", name)
	}
}

// published gives all columns the types.
func published(columns []catalog.Column, types signal.TypeSet) map[catalog.ColumnID]signal.TypeSet {
	out := make(map[catalog.ColumnID]signal.TypeSet, len(columns))
	for _, c := range columns {
		out[c.ID] = types
	}
	return out
}
