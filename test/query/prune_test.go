package query_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/fault"
)

// Values near which pruning may go wrong: bounds of exactness, of types, of cut statistics.
func someInts() []int64 {
	return []int64{0, 1, -1, 7, 1 << 53, 1<<53 + 1, -(1<<53 + 1), math.MaxInt64, math.MinInt64, math.MaxInt64 - 1}
}

func someFloats() []float64 {
	return []float64{0, 0.1, -0.1, 1, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1 << 53, 5e-324}
}

func someTexts() []string {
	return []string{
		"", "a", "b", "é", "🙂", "A", strings.Repeat("é", 40), strings.Repeat("é", 32) + "z", strings.Repeat("\U0010ffff", 20),
	}
}

func someTimes() []time.Time {
	return []time.Time{now, now.Add(time.Microsecond), time.UnixMicro(-1), time.UnixMicro(0)}
}

// constants are texts of values to compare each column with, types other than the column's included.
func constants() map[string][]string {
	out := map[string][]string{
		"i": {
			"0", "1", "-1", "0.5", "9007199254740992", "9007199254740993", "9007199254740992.5", "1e300", "9223372036854775807",
			"-9223372036854775808", "'7'::BIGINT", "7::TINYINT", "9007199254740993::DOUBLE", "1.0000000000000000001", "18446744073709551615",
			"0.1::FLOAT",
		},
		"f": {
			"0", "0.1", "0.1::FLOAT", "-0.1", "1", "1e300", "'inf'::DOUBLE", "'-inf'::DOUBLE", "'nan'::DOUBLE", "9007199254740993",
			"0.10000000000000000555",
		},
		"t": {
			"TIMESTAMPTZ '2026-11-30 12:00:00+00'", "TIMESTAMPTZ '1970-01-01 00:00:00+00'", "DATE '1970-01-01'",
			"TIMESTAMP '2026-11-30 12:00:00.000001'", "TIMESTAMP_NS '2026-11-30 12:00:00.000000001'", "TIMESTAMPTZ 'infinity'",
		},
	}
	for _, s := range someTexts() {
		out["s"] = append(out["s"], "'"+s+"'")
	}
	return out
}

// TestPruningChangesNoAnswer compares conditions in WHERE, which prune, with the same ones in a place where they cannot. A comparison that
// the engine refuses only once it meets a row may fail there and pass here, where that row was never read.
func TestPruningChangesNoAnswer(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	next := uint64(1)
	pick := func(n int) int { // a fixed sequence without a pattern
		next = next*6364136223846793005 + 1442695040888963407
		return int(next>>33) % n
	}
	for file := range 12 {
		var rows []row
		for range 1 + file%3 { // few rows, so that bounds are tight
			r := row{"row": file}
			if pick(4) > 0 {
				r["i"] = someInts()[pick(len(someInts()))]
			}
			if pick(4) > 0 {
				r["f"] = someFloats()[pick(len(someFloats()))]
			}
			if pick(4) > 0 {
				r["s"] = someTexts()[pick(len(someTexts()))]
			}
			if pick(4) > 0 {
				r["t"] = someTimes()[pick(len(someTimes()))]
			}
			rows = append(rows, r)
		}
		s.Write(web, rows...)
		s.Flush()
	}
	all := constants()
	condition := func(t *rapid.T) string {
		c := rapid.SampledFrom([]string{"i", "f", "s", "t"}).Draw(t, "column")
		value := func() string { return rapid.SampledFrom(all[c]).Draw(t, "constant") }
		switch op := rapid.SampledFrom([]string{"=", "<", "<=", ">", ">=", "IN", "BETWEEN", "IS NOT NULL", "flip"}).Draw(t, "op"); op {
		case "IN":
			return fmt.Sprintf("%s IN (%s, %s)", c, value(), value())
		case "BETWEEN":
			return fmt.Sprintf("%s BETWEEN %s AND %s", c, value(), value())
		case "IS NOT NULL":
			return c + " IS NOT NULL"
		case "flip":
			return fmt.Sprintf("%s <= %s", value(), c)
		default:
			return fmt.Sprintf("%s %s %s", c, op, value())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := condition(t)
		if rapid.Bool().Draw(t, "two") {
			c = "(" + c + ") " + rapid.SampledFrom([]string{"AND", "OR"}).Draw(t, "and") + " (" + condition(t) + ")"
		}
		pruned, err := s.try(s.t.Context(), request("SELECT count(*) FROM web WHERE "+c))
		if err != nil { // the engine refuses the comparison in both places
			_, err = s.try(s.t.Context(), request("SELECT count(*) FILTER (WHERE "+c+") FROM web"))
			require.Error(t, err, c)
			return
		}
		whole, err := s.try(s.t.Context(), request("SELECT count(*) FILTER (WHERE "+c+") FROM web"))
		if fault.Is(err, fault.Invalid) {
			return
		}
		require.NoError(t, err, c)
		require.Equal(t, whole.rows, pruned.rows, c)
	})
}
