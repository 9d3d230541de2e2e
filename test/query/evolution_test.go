package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// change is one batch of a stream whose columns change.
type change struct {
	name string
	rows []row
}

// evolution is changes that must read the same whatever order they come in and wherever they are flushed.
type evolution struct {
	name       string
	changes    []change
	statements []string
	want       map[string][]string // sorted rows, where they are worth spelling out
}

func evolutions() []evolution {
	return []evolution{
		{
			name: "S01 int and float",
			changes: []change{
				{"float", []row{{"id": 1, "v": 0.7}}},
				{"int", []row{{"id": 2, "v": 0}}},
				{"other", []row{{"id": 3, "w": 1}, {"id": 4, "v": 2.5}}},
			},
			statements: []string{
				"SELECT id, v FROM s", "SELECT max(v), min(v), sum(v) FROM s", "SELECT id FROM s WHERE v > 0.5", "SELECT id FROM s WHERE v = 0",
			},
			want: map[string][]string{
				"SELECT id, v FROM s":                  {"1|0.7", "2|0", "3|(null)", "4|2.5"},
				"SELECT max(v), min(v), sum(v) FROM s": {"2.5|0|3.2"},
				"SELECT id FROM s WHERE v = 0":         {"2"},
			},
		},
		{
			name: "S01 large int and float",
			changes: []change{
				{"float", []row{{"id": 1, "t": 0.7}}},
				{"small", []row{{"id": 2, "t": 0}}},
				{"large", []row{{"id": 3, "t": int64(9007199254740993)}}},
			},
			statements: []string{
				"SELECT id, t FROM s", "SELECT max(t) FROM s", "SELECT id FROM s WHERE t > 100", "SELECT id FROM s WHERE t = '9007199254740993'",
			},
			want: map[string][]string{
				"SELECT id, t FROM s":                           {"1|0.7", "2|0", "3|9007199254740993"},
				"SELECT max(t) FROM s":                          {"9007199254740993"},
				"SELECT id FROM s WHERE t = '9007199254740993'": {"3"},
			},
		},
		{
			name: "S02 several types in one batch",
			changes: []change{
				{"first", []row{{"id": 1, "level": 3.0}}},
				{"mixed", []row{
					{"id": 2, "level": false}, {"id": 3, "level": "false"}, {"id": 4, "level": 0}, {"id": 5}, {"id": 6, "level": jsonText("[1]")},
				}},
				{"nested", []row{{"id": 7, "level.x": 1}}},
			},
			statements: []string{
				"SELECT * FROM s", "SELECT id FROM s WHERE level = 0", "SELECT id FROM s WHERE level = 'false'", "SELECT id FROM s WHERE level > 1",
				"SELECT id FROM s WHERE level IS NULL", "SELECT sum(level) FROM s", "SELECT id, level FROM s",
			},
			want: map[string][]string{
				"SELECT id, level FROM s":                {"1|3.0", "2|false", "3|false", "4|0", "5|(null)", "6|[1]", "7|(null)"},
				"SELECT id FROM s WHERE level = 0":       {"4"},
				"SELECT id FROM s WHERE level = 'false'": {"2", "3"},
				"SELECT id FROM s WHERE level IS NULL":   {"5", "7"},
			},
		},
		{
			name: "S03 files disagree",
			changes: []change{
				{"list", []row{{"id": 1, "c": jsonText(`["a"]`)}}},
				{"int", []row{{"id": 2, "c": 7}}},
				{"text", []row{{"id": 3, "c": "GB80X"}}},
				{"gone", []row{{"id": 4, "d": 1}}},
			},
			statements: []string{
				"SELECT id, c, d FROM s", "SELECT id FROM s WHERE c = 7", "SELECT id FROM s WHERE c = 'GB80X'", "SELECT id FROM s WHERE c LIKE '%a%'",
				"SELECT count(c) FROM s", "SELECT id FROM s WHERE d = 1",
			},
			want: map[string][]string{
				"SELECT id, c, d FROM s":             {`1|["a"]|(null)`, "2|7|(null)", "3|GB80X|(null)", "4|(null)|1"},
				"SELECT id FROM s WHERE c = 7":       {"2"},
				"SELECT id FROM s WHERE c = 'GB80X'": {"3"},
				"SELECT id FROM s WHERE d = 1":       {"4"},
			},
		},
		{
			name: "times, bools and names in two cases",
			changes: []change{
				{"time", []row{{"id": 1, "x": now, "Name": "a"}}},
				{"bool", []row{{"id": 2, "x": true, "Name": "b"}}},
				{"json", []row{{"id": 3, "x": jsonText(`{"k":1}`), "Name": "c"}}},
			},
			statements: []string{"SELECT id, x, Name FROM s", "SELECT id FROM s WHERE x = true"},
			want: map[string][]string{
				"SELECT id, x, Name FROM s":       {"1|2026-11-30 12:00:00+00|a", "2|true|b", `3|{"k":1}|c`},
				"SELECT id FROM s WHERE x = true": {"2"},
			},
		},
	}
}

// permutations returns all orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			q := append(append(append([]int{}, p[:i]...), n-1), p[i:]...)
			out = append(out, q)
		}
	}
	return out
}

func TestSchemaEvolutionInEveryOrder(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	for e, x := range evolutions() {
		want := map[string][]string{}
		for p, order := range permutations(len(x.changes)) {
			for flushed := range 1 << len(x.changes) {
				if p > 1 && flushed%5 != p%5 {
					continue // every order, some of the flush patterns
				}
				name := fmt.Sprintf("s%d_%d_%d", e, p, flushed)
				for i, c := range order {
					rows := x.changes[c].rows
					for r := range rows {
						rows[r]["_timestamp"] = now.Add(time.Duration(r) * time.Second)
					}
					s.Write(logs("acme", name), rows...)
					if flushed&(1<<i) != 0 {
						s.Flush()
					}
				}
				checkEvolution(t, s, x, want, name)
			}
		}
	}
}

func checkEvolution(t *testing.T, s *store, x evolution, want map[string][]string, name string) {
	t.Helper()
	for _, statement := range x.statements {
		a := s.ask("acme", replaceStream(statement, name))
		got := a.sorted()
		if spelled, ok := x.want[statement]; ok && statement != "SELECT * FROM s" {
			require.Equal(t, spelled, got, "%s, %s: %s", x.name, name, statement)
		}
		if statement == "SELECT * FROM s" {
			require.Len(t, got, 7, "%s, %s", x.name, name)
			continue // the order of columns is that of first sight
		}
		if want[statement] == nil {
			want[statement] = append([]string{fmt.Sprint(a.types)}, got...)
		}
		require.Equal(t, want[statement], append([]string{fmt.Sprint(a.types)}, got...), "%s, %s: %s", x.name, name, statement)
	}
}

// replaceStream puts a stream's name in place of the s after FROM.
func replaceStream(statement, name string) string {
	const from = "FROM s"
	for i := 0; i+len(from) <= len(statement); i++ {
		if statement[i:i+len(from)] == from {
			return statement[:i] + "FROM " + name + statement[i+len(from):]
		}
	}
	return statement
}

func TestNamesInTwoCases(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	s.Write(web, row{"Host": "upper"})
	s.Flush()
	s.Write(web, row{"host": "lower"})
	for range 2 {
		require.Equal(t, []string{"(null)|lower", "upper|(null)"}, s.ask("acme", `SELECT "Host", host__2 FROM web`).sorted())
		require.Equal(t, []string{
			"_timestamp|timestamp|_timestamp|timestamp", "Host|string|Host|string", "host__2|string|host|string",
		}, s.ask("acme", "DESCRIBE web").rows)
		s.Flush()
	}
}
