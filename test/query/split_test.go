package query_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	questions "github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/frontend"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/tenant"
)

// asker answers questions with a querier, and counts those that it splits.
type asker struct {
	*querier.Querier
	split *atomic.Int64
}

func (a asker) request(q questions.Question) querier.Request {
	return querier.Request{
		Org: q.Org, Database: q.Database, Statement: q.Statement, Start: q.Start, End: q.End, Limit: int64(q.Limit), Now: q.Now,
	}
}

func (a asker) Ask(ctx context.Context, q questions.Question) (questions.Result, error) {
	r, err := a.Query(ctx, a.request(q))
	if err != nil {
		return nil, err
	}
	return asked{r}, nil
}

func (a asker) Split(ctx context.Context, q questions.Question) (*questions.Split, error) {
	s, err := a.Querier.Split(ctx, a.request(q))
	if s != nil {
		a.split.Add(1)
	}
	return s, err
}

type asked struct{ *querier.Result }

func (a asked) Meta() questions.Meta {
	return questions.Meta{Warnings: a.Warnings(), Stats: questions.Stats{ScannedRows: a.Stats().ScannedRows, Rows: a.Stats().Rows}}
}

// splitFrontend answers in parts of an interval.
func splitFrontend(s *store, interval time.Duration) (*frontend.Frontend, *atomic.Int64) {
	l := limits.Default()
	l.SplitQueriesByInterval, l.MaxQueryParallelism = interval, 4
	a := asker{s.querier, new(atomic.Int64)}
	return frontend.New(frontend.Deps{
		Queue: fairqueue.New(fairqueue.Options{Capacity: 2}), SQL: a, Splitter: a,
		Limits: func(tenant.ID) limits.Limits { return l },
	}), a.split
}

// table is an answer: its columns and rows as text.
type table struct {
	columns []string // name and type
	floats  []bool
	rows    [][]string
	meta    questions.Meta
}

func read(t *testing.T, a questions.Answerer, q questions.Question) (out table, err error) {
	t.Helper()
	r, err := a.Ask(t.Context(), q)
	if err != nil {
		return out, err
	}
	defer func() { require.NoError(t, r.Close()) }()
	for _, f := range r.Schema().Fields() {
		name, _ := f.Metadata.GetValue(questions.TypeKey)
		out.columns = append(out.columns, f.Name+" "+name)
		out.floats = append(out.floats, f.Type.ID() == arrow.FLOAT64)
	}
	for {
		record, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			out.meta = r.Meta()
			return out, nil
		}
		if err != nil {
			return out, err
		}
		for i := range int(record.NumRows()) {
			var row []string
			for _, c := range record.Columns() {
				row = append(row, c.ValueStr(i))
			}
			out.rows = append(out.rows, row)
		}
		record.Release()
	}
}

// requireSame compares answers; floats within 1e-9, rows as a multiset unless they are in a total order.
func requireSame(t *testing.T, want, got table, ordered bool, what string) {
	t.Helper()
	require.Equal(t, want.columns, got.columns, what)
	require.Len(t, got.rows, len(want.rows), what)
	if !ordered {
		for _, rows := range [][][]string{want.rows, got.rows} {
			slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(rounded(a), rounded(b)) })
		}
	}
	for i := range want.rows {
		for j := range want.rows[i] {
			a, b := want.rows[i][j], got.rows[i][j]
			if want.floats[j] {
				x, errX := strconv.ParseFloat(a, 64)
				y, errY := strconv.ParseFloat(b, 64)
				if errX == nil && errY == nil && math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y)) {
					continue
				}
			}
			require.Equal(t, a, b, "row %d of %s", i, what)
		}
	}
}

// rounded is a row without the last digits of its floats.
func rounded(row []string) string {
	out := make([]string, len(row))
	for i, cell := range row {
		if f, err := strconv.ParseFloat(cell, 64); err == nil && strings.Contains(cell, ".") {
			cell = strconv.FormatFloat(f, 'g', 8, 64)
		}
		out[i] = cell
	}
	return strings.Join(out, "\x00")
}

// statements makes statements at random, of which most can be split.
type statements struct{ *rand.Rand }

func (s statements) one(list ...string) string { return list[s.IntN(len(list))] }

func (s statements) make() (text string, ordered bool) {
	where := s.one("", "", " WHERE level = 'error'", " WHERE took > 1.5 AND ok", " WHERE message LIKE '%user u3 %'", " WHERE late IS NOT NULL",
		" WHERE _timestamp >= TIMESTAMPTZ '2026-11-29 03:17:00+00'", " WHERE _timestamp > now() - INTERVAL 30 HOUR", " WHERE 1 = 0")
	if s.IntN(3) == 0 {
		items := s.one("*", "id, message, _timestamp", "id, lower(level) AS l", "id, mixed")
		return fmt.Sprintf("SELECT %s FROM web%s ORDER BY _timestamp%s", items, where, s.one("", " DESC", " DESC")) +
			s.one(fmt.Sprintf(" LIMIT %d", 1+s.IntN(120)), fmt.Sprintf(" LIMIT %d OFFSET %d", 1+s.IntN(60), s.IntN(90)),
				fmt.Sprintf(" OFFSET %d", s.IntN(90))), true
	}
	var keys, items []string
	for range s.IntN(3) {
		keys = append(keys, s.one("level", "host", "mixed", "ok", "took", "date_trunc('hour', _timestamp)",
			"time_bucket(INTERVAL '3 hours', _timestamp)",
			"id % 3", "coalesce(late, -1)", "tags", "date_trunc('day', seen)"))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	items = append(items, keys...)
	for range 1 + s.IntN(4) {
		column := s.one("id", "took", "late", "mixed", "id * 1.5", "length(message)")
		items = append(items, s.one("count(*)", "count(late)", "count(mixed)", "sum("+column+")", "avg("+column+")", "min("+column+")",
			"max("+column+")", "min(seen)", "max(message)", "min(level)", "max(ok)", "sum(id) FILTER (WHERE ok)",
			"avg(took) FILTER (WHERE level = 'warn')",
			"count(DISTINCT host)", "quantile_cont(took, 0.5)", "sum(id) + 1", "min(tags)", "sum(took::DECIMAL(10, 2))"))
	}
	text = "SELECT " + strings.Join(items, ", ") + " FROM web" + where
	if len(keys) == 0 {
		return text + s.having(keys), false
	}
	if s.IntN(3) == 0 {
		text += " GROUP BY ALL" + s.having(nil) // a key there would make further groups of its columns
	} else {
		text += " GROUP BY " + s.one(strings.Join(keys, ", "), positions(len(keys))) + s.having(keys)
	}
	if s.IntN(2) == 0 {
		var order []string
		for i := range keys {
			order = append(order, strconv.Itoa(i+1)+s.one("", " DESC", " ASC NULLS FIRST", " DESC NULLS LAST"))
		}
		if s.IntN(3) == 0 { // by what is not shown; the keys make it a total order
			order = append([]string{s.one("count(*)", "sum(id)", "max(id) DESC", "min(late) NULLS FIRST", "count(late)")}, order...)
		}
		text += " ORDER BY " + strings.Join(order, ", ") + s.one("", " LIMIT 5", " LIMIT 4 OFFSET 3")
		return text, true
	}
	return text, false
}

// having makes a condition about groups.
func (s statements) having(keys []string) string {
	if s.IntN(2) == 0 {
		return ""
	}
	one := func() string {
		what := s.one("count(*)", "count(late)", "sum(id)", "min(id)", "max(took)", "min(took)", "max(late)", "avg(took)", "sum(took)",
			"count(*) FILTER (WHERE ok)", "max(mixed)", "sum(mixed)")
		if len(keys) > 0 && s.IntN(3) == 0 {
			key := keys[s.IntN(len(keys))]
			text := slices.Contains([]string{"level", "host", "mixed"}, key)
			return s.one(key+" IS NULL", key+" IS NOT NULL", map[bool]string{true: "'h2' < " + key, false: key + " IS NOT NULL"}[text],
				map[bool]string{true: key + " <> 'error'", false: key + " IS NULL"}[text],
				map[bool]string{true: key + " <> 1", false: key + " IS NULL"}[key == "id % 3" || key == "mixed" || key == "took"])
		}
		number := strconv.Itoa(s.IntN(120))
		return s.one(what+" > "+number, number+" >= "+what, what+" BETWEEN 2 AND "+number, what+" <> "+number, what+" IS NULL",
			"NOT ("+what+" < "+number+")", what+" = "+strconv.Itoa(s.IntN(6)), what+" > 1.5", "-3 < "+what)
	}
	return " HAVING " + s.one(one(), one()+" AND "+one(), one()+" OR "+one(), "NOT ("+one()+" AND ("+one()+" OR "+one()+"))")
}

func positions(n int) string {
	var out []string
	for i := range n {
		out = append(out, strconv.Itoa(i+1))
	}
	return strings.Join(out, ", ")
}

// TestSplitStatementsAnswerAsWholeOnes asks statements at random, as a whole and in parts, over rows of which some are in files.
func TestSplitStatementsAnswerAsWholeOnes(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	for i, rows := range batches() {
		s.Write(logs("acme", "web"), rows...)
		if i == 1 || i == 3 {
			s.Flush()
		}
	}
	whole := asker{s.querier, new(atomic.Int64)}
	seed := uint64(time.Now().UnixNano())
	random := statements{rand.New(rand.NewPCG(1, seed))}
	const asks = 500
	for range asks {
		text, ordered := random.make()
		q := questions.Question{Org: "acme", Statement: text, Start: now.Add(-time.Duration(1+random.IntN(60)) * time.Hour), Now: now}
		if random.IntN(2) == 0 {
			q.End = q.Start.Add(time.Duration(random.IntN(50*3600)) * time.Second)
		}
		if random.IntN(5) == 0 && ordered {
			q.Limit = 1 + random.IntN(20)
		}
		interval := []time.Duration{20 * time.Minute, time.Hour, 7 * time.Hour, 24 * time.Hour}[random.IntN(4)]
		what := fmt.Sprintf("seed %d: %s from %s to %s limit %d by %s", seed, text, q.Start, q.End, q.Limit, interval)
		parts, _ := splitFrontend(s, interval)
		want, wantErr := read(t, whole, q)
		got, gotErr := read(t, parts, q)
		if wantErr != nil {
			require.Error(t, gotErr, what)
			require.Equal(t, wantErr.Error(), gotErr.Error(), what)
			continue
		}
		require.NoError(t, gotErr, what)
		requireSame(t, want, got, ordered, what)
	}
}

// TestLimitsOfTheWholeHoldForParts asks with bounds of many sizes on what a statement may read. The same statements are refused, in the
// same words, whether or not they are split, although each part reads little and files that two parts need count once.
func TestLimitsOfTheWholeHoldForParts(t *testing.T) {
	t.Parallel()
	var l limits.Limits
	seed := uint64(time.Now().UnixNano())
	random := statements{rand.New(rand.NewPCG(2, seed))}
	for _, maxRows := range []int64{0, 1, 60, 130, 239, 240} {
		s := newStore(t, storeOptions{
			querier: querier.Options{MaxScanRows: maxRows}, limits: func(tenant.ID) limits.Limits { return l },
		})
		for i, rows := range batches() {
			s.Write(logs("acme", "web"), rows...)
			if i != 4 {
				s.Flush()
			}
		}
		refused, split := 0, int64(0)
		for range 60 {
			l = limits.Default()
			if random.IntN(2) == 0 {
				l.MaxQueryBytesRead = 1 + random.Int64N(60_000)
			}
			text, ordered := random.make()
			q := questions.Question{Org: "acme", Statement: text, Start: now.Add(-time.Duration(1+random.IntN(60)) * time.Hour), Now: now}
			what := fmt.Sprintf("seed %d: %s from %s, at most %d rows, %d bytes", seed, text, q.Start, maxRows, l.MaxQueryBytesRead)
			parts, count := splitFrontend(s, 2*time.Hour)
			want, wantErr := read(t, asker{s.querier, new(atomic.Int64)}, q)
			got, gotErr := read(t, parts, q)
			split += count.Load()
			if wantErr != nil {
				require.Error(t, gotErr, what)
				require.Equal(t, wantErr.Error(), gotErr.Error(), what)
				refused++
				continue
			}
			require.NoError(t, gotErr, what)
			requireSame(t, want, got, ordered, what)
		}
		t.Logf("at most %d rows: %d of 60 refused, %d split", maxRows, refused, split)
	}
}

// TestWhatIsSplit says which statements are answered in parts.
func TestWhatIsSplit(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	for _, rows := range batches() {
		s.Write(logs("acme", "web"), rows...)
	}
	s.Flush()
	s.lost = []string{"node i9 cannot be reached"}
	for text, want := range map[string]bool{
		"SELECT * FROM web ORDER BY _timestamp DESC LIMIT 10":                            true,
		"SELECT id FROM web WHERE level = 'error' ORDER BY _timestamp LIMIT 10":          true,
		"SELECT level, count(*) FROM web GROUP BY level":                                 true,
		"SELECT count(*), sum(id), min(took), max(took), avg(took) FROM web":             true,
		"SELECT date_trunc('hour', _timestamp) AS h, count(*) AS n FROM web GROUP BY h":  true,
		"SELECT host, level, avg(took) FROM web GROUP BY ALL ORDER BY 3 DESC LIMIT 2":    true,
		"SELECT * FROM web ORDER BY _timestamp DESC LIMIT 10 OFFSET 2":                   true,
		"SELECT * FROM web ORDER BY _timestamp DESC LIMIT 9000 OFFSET 2000":              false, // that many are not collected
		"SELECT * FROM web ORDER BY id LIMIT 10":                                         false,
		"SELECT * FROM web LIMIT 10":                                                     false,
		"SELECT DISTINCT level FROM web":                                                 false,
		"SELECT count(*) FROM web GROUP BY level":                                        false, // the keys are not shown
		"SELECT lower(level) AS level, count(*) FROM web GROUP BY level":                 false, // the column is meant, not the item
		"SELECT level, count(*) FROM web GROUP BY level HAVING count(*) > 3":             true,
		"SELECT level, count(*) FROM web GROUP BY 1 HAVING level >= 'info'":              true,
		"SELECT level, count(*) FROM web GROUP BY ALL HAVING level >= 'info'":            false, // there it makes a group of its own
		"SELECT level FROM web GROUP BY level HAVING count(*) > 3":                       false, // no aggregate is shown
		"SELECT level, count(*) AS n FROM web GROUP BY level HAVING n > 3":               false, // an alias, or a column
		"SELECT level, count(*) FROM web GROUP BY level HAVING count(*) > avg(id)":       false,
		"SELECT level, count(*) FROM web GROUP BY level HAVING sum(id) > 1.5":            false,
		"SELECT level, max(id) FROM web GROUP BY 1 HAVING max(took) > 3 OR level = 'x'":  true,
		"SELECT level, count(*) FROM web GROUP BY ROLLUP (level)":                        false,
		"SELECT quantile_cont(took, 0.5) FROM web":                                       false,
		"SELECT count(*) FROM web a JOIN web b ON a.id = b.id":                           false,
		"SELECT count(*) FROM (SELECT * FROM web LIMIT 5)":                               false,
		"SELECT count(*) FROM web WHERE id IN (SELECT max(id) FROM web)":                 false,
		"SELECT level, count(*) OVER () FROM web":                                        false,
		"SELECT level, string_agg(host, ',') FROM web GROUP BY level":                    false,
		"SELECT level, count(*) FROM web GROUP BY level ORDER BY sum(id)":                true,
		"SELECT level, count(*) FROM web GROUP BY level ORDER BY quantile_cont(id, 0.5)": false,
		"SELECT count(*) FROM web TABLESAMPLE 10%":                                       false,
		"WITH x AS (SELECT 1) SELECT count(*) FROM web":                                  false,
	} {
		parts, split := splitFrontend(s, time.Hour)
		got, err := read(t, parts, questions.Question{Org: "acme", Statement: text, Start: now.Add(-10 * time.Hour), Now: now})
		require.NoError(t, err, text)
		require.Equal(t, want, split.Load() == 1, text)
		require.Equal(t, s.lost, got.meta.Warnings, "%s: once, however many parts tell it", text)
		require.EqualValues(t, len(got.rows), got.meta.Stats.Rows, text)
	}
	all := questions.Question{Org: "acme", Statement: "SELECT count(*) FROM web", Now: now}
	whole, err := read(t, asker{s.querier, new(atomic.Int64)}, all)
	require.NoError(t, err)
	parts, _ := splitFrontend(s, time.Hour)
	got, err := read(t, parts, questions.Question{
		Org: "acme", Now: now, Statement: "SELECT count(*) FROM web WHERE _timestamp >= TIMESTAMPTZ '2026-11-20 00:00:00+00'",
	})
	require.NoError(t, err)
	require.Equal(t, whole.rows, got.rows, "the statement's own time is enough")
}

// TestAllRowsButTheFirst leaves rows out at one end without a limit: all others come, from whatever file.
func TestAllRowsButTheFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	for _, rows := range batches() {
		s.Write(logs("acme", "web"), rows...)
		s.Flush()
	}
	for _, order := range []string{"_timestamp", "_timestamp DESC"} {
		for _, skip := range []int{1, 39, 40, 41, 200} {
			q := questions.Question{Org: "acme", Now: now, Statement: fmt.Sprintf("SELECT id FROM web ORDER BY %s OFFSET %d", order, skip)}
			got, err := read(t, asker{s.querier, new(atomic.Int64)}, q)
			require.NoError(t, err)
			require.Len(t, got.rows, 240-skip, q.Statement)
		}
	}
}
