package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state    rules.State
		from, to uint64
		want     catalog.CommitResult
	}{
		{rules.State{}, 0, 1, catalog.CommitResult{Outcome: catalog.Gone}},
		{rules.State{Exists: true}, 0, 1, catalog.CommitResult{Outcome: catalog.Committed, Current: 1}},
		{rules.State{Exists: true}, 1, 2, catalog.CommitResult{Outcome: catalog.Stale}},
		{rules.State{Exists: true, Committed: 5}, 5, 9, catalog.CommitResult{Outcome: catalog.Committed, Current: 9}},
		{rules.State{Exists: true, Committed: 5}, 3, 5, catalog.CommitResult{Outcome: catalog.Repeated, Current: 5}},
		{rules.State{Exists: true, Committed: 5}, 4, 6, catalog.CommitResult{Outcome: catalog.Stale, Current: 5}},
		{rules.State{Exists: true, Committed: 5, Fenced: true}, 5, 6, catalog.CommitResult{Outcome: catalog.Fenced, Current: 5}},
		{rules.State{Exists: true, Committed: 5, Fenced: true}, 4, 5, catalog.CommitResult{Outcome: catalog.Fenced, Current: 5}},
		{rules.State{Fenced: true}, 0, 1, catalog.CommitResult{Outcome: catalog.Gone}},
	} {
		got := rules.Judge(c.state, &catalog.DatasetCommit{From: c.from, To: c.to})
		require.Equal(t, c.want, got, "%+v (%d, %d]", c.state, c.from, c.to)
	}
}

// TestColumnNames: whatever comes in whatever portions, ids are 1 to n, no two physical names are one to an engine that folds case,
// and the order of first sight alone decides.
func TestColumnNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "A", "a__2", "A__2", "a__2__2", "a__3", "ä", "Ä", "", "_empty", "\x00", "\xff", "\uFFFD"})
		names := rapid.SliceOfN(name, 0, 30).Draw(t, "names")
		var columns []catalog.Column
		for rest := names; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "portion")
			columns = append(columns, rules.NewColumns(columns, rest[:n])...)
			rest = rest[n:]
		}
		if got := rules.NewColumns(nil, names); fmt.Sprint(got) != fmt.Sprint(columns) {
			t.Fatalf("in portions %v, at once %v", columns, got)
		}
		folded := make(map[string]bool)
		for i, c := range columns {
			key := strings.ToLower(c.Physical)
			if int(c.ID) != i+1 || folded[key] || c.Physical == "" || strings.Contains(c.Physical, "\x00") {
				t.Fatalf("column %d of %v", i, columns)
			}
			folded[key] = true
		}
		if len(columns) != len(rules.Dedup(names)) || len(rules.NewColumns(columns, names)) > 0 {
			t.Fatalf("%v has columns %v", names, columns)
		}
	})
}

func FuzzColumnsRoundTrip(f *testing.F) {
	f.Add("message", "a", "z", int64(3), true)
	f.Add("bad\xff", "cut\xc3", "\xff\x00", int64(0), false)
	f.Add("", "", "", int64(-1), false)
	f.Fuzz(func(t *testing.T, physical, lowest, greatest string, nulls int64, exact bool) {
		physical = strings.ToValidUTF8(physical, "?") // as rules names columns
		want := []catalog.SegmentColumn{
			{ID: 1, Physical: physical, Type: signal.String, Min: lowest, Max: greatest, Nulls: nulls, Exact: exact},
			{ID: 2, Physical: "n", Type: signal.Int64, Min: "-1", Max: "1"},
		}
		text, err := rules.EncodeColumns(want)
		require.NoError(t, err)
		require.NotContains(t, text, "\x00")
		got, err := new(rules.ColumnDecoder).Decode(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// TestStoredColumns pins the stored form: files of it exist as long as segments live.
func TestStoredColumns(t *testing.T) {
	t.Parallel()
	columns := []catalog.SegmentColumn{
		{ID: 1, Physical: "a", Type: signal.Int64, Min: "1", Max: "2"},
		{ID: 2, Physical: "b", Type: signal.String, Nulls: 4, Min: "x", Max: "\xff", Exact: true},
	}
	const stored = `[{"i":1,"p":"a","t":2,"a":"1","z":"2"},{"i":2,"p":"b","t":4,"n":4,"a":"eA==","z":"/w==","e":true,"b":true}]`
	text, err := rules.EncodeColumns(columns)
	require.NoError(t, err)
	require.JSONEq(t, stored, text)
	var d rules.ColumnDecoder
	got, err := d.Decode(stored)
	require.NoError(t, err)
	require.Equal(t, columns, got)
	for _, damaged := range []string{"", "{", `[{"i":"x"}]`, `[{"a":"!","b":true}]`} {
		_, err := d.Decode(damaged)
		require.True(t, fault.Is(err, fault.Corrupt), "%q: %v", damaged, err)
	}
	again, err := d.Decode(stored)
	require.NoError(t, err, "damage leaves the decoder usable")
	require.Equal(t, columns, again)
	require.Equal(t, columns, got, "what was decoded does not change with the decoder")
}

func BenchmarkDecodeColumns(b *testing.B) {
	columns := make([]catalog.SegmentColumn, 30)
	for i := range columns {
		columns[i] = catalog.SegmentColumn{
			ID: catalog.ColumnID(i + 1), Physical: fmt.Sprintf("resource.attribute_%d", i), Type: signal.String, Nulls: 5,
			Min: "10.0.0.1 some value", Max: "192.168.0.1 some other value", Exact: true,
		}
	}
	text, err := rules.EncodeColumns(columns)
	require.NoError(b, err)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var d rules.ColumnDecoder
	for b.Loop() {
		if _, err := d.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}
