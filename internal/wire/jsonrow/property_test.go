package jsonrow_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

// object is a JSON object whose members keep their order and may repeat a key.
type object []member

type member struct {
	key   string
	value any // an int or an object
}

func (o object) text() string {
	parts := make([]string, len(o))
	for i, m := range o {
		key, _ := json.Marshal(m.key)
		if inner, ok := m.value.(object); ok {
			parts[i] = string(key) + ":" + inner.text()
		} else {
			parts[i] = fmt.Sprintf("%s:%v", key, m.value)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestNoValueIsLost gives every value of rows with colliding and missing columns a number of its own: all numbers can be read back,
// whatever the order of keys and rows and however few columns there may be.
func TestNoValueIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		next := 0
		var draw func(depth int) object
		draw = func(depth int) object {
			var o object
			for range rapid.IntRange(1, 5).Draw(rt, "members") {
				key := rapid.SampledFrom([]string{"a", "b", "a.b", "a.a", "_c", "", "A", "b.a.b"}).Draw(rt, "key")
				if depth < 4 && rapid.IntRange(0, 2).Draw(rt, "nest") == 0 {
					o = append(o, member{key, draw(depth + 1)})
					continue
				}
				next++
				o = append(o, member{key, next})
			}
			return o
		}
		var rows []object
		for range rapid.IntRange(1, 6).Draw(rt, "rows") {
			rows = append(rows, draw(1))
		}
		opts := options()
		opts.MaxColumns = rapid.IntRange(1, 10).Draw(rt, "columns")
		for range 2 {
			lines := make([]string, len(rows))
			for i, o := range rows {
				lines[i] = o.text()
			}
			got, refused := decode(t, signal.Logs, opts, lines...)
			require.Empty(rt, refused)
			seen := numbers(rt, got)
			require.Len(rt, seen, next)
			for n := 1; n <= next; n++ {
				require.Equal(rt, 1, seen[n], "%d in %v", n, lines)
			}
			rows = rapid.Permutation(rows).Draw(rt, "order")
			for i := range rows {
				rows[i] = shuffle(rt, rows[i])
			}
		}
	})
}

func shuffle(t *rapid.T, o object) object {
	out := rapid.Permutation(o).Draw(t, "keys")
	for i := range out {
		if inner, ok := out[i].value.(object); ok {
			out[i].value = shuffle(t, inner)
		}
	}
	return out
}

// numbers counts the numbers that stand in columns and in overflow objects.
func numbers(t *rapid.T, rows []wiretest.Row) map[int]int {
	seen := make(map[int]int)
	for _, row := range rows {
		for column, cell := range row {
			typ, text, _ := strings.Cut(cell, " ")
			switch {
			case column == signal.OverflowColumn:
				var fields map[string]int
				require.NoError(t, json.Unmarshal([]byte(text), &fields), text)
				for _, n := range fields {
					seen[n]++
				}
			case typ == "int64":
				n, err := strconv.Atoi(text)
				require.NoError(t, err)
				seen[n]++
			}
		}
	}
	return seen
}
