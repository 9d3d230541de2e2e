package promeval_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promeval"
)

// memory is a storage.Queryable over series in memory. It gives them in the order in which they stand.
type memory struct {
	series   []storage.Series
	queriers int
	fail     error
}

func (m *memory) Querier(int64, int64) (storage.Querier, error) {
	m.queriers++
	return &memoryQuerier{m}, nil
}

type memoryQuerier struct{ *memory }

func (q *memoryQuerier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, s := range q.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
			found = append(found, s)
		}
	}
	return &memorySet{found, -1, q.fail}
}

func (*memoryQuerier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	return nil, nil, nil
}

func (*memoryQuerier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*memoryQuerier) Close() error { return nil }

type memorySet struct {
	series []storage.Series
	at     int
	err    error
}

func (s *memorySet) Next() bool {
	s.at++
	return s.err == nil && s.at < len(s.series)
}
func (s *memorySet) At() storage.Series              { return s.series[s.at] }
func (s *memorySet) Err() error                      { return s.err }
func (*memorySet) Warnings() annotations.Annotations { return nil }

type sample struct {
	t  int64
	f  float64
	fh *histogram.FloatHistogram
}

func (s sample) T() int64                      { return s.t }
func (sample) ST() int64                       { return 0 }
func (s sample) F() float64                    { return s.f }
func (sample) H() *histogram.Histogram         { return nil }
func (s sample) FH() *histogram.FloatHistogram { return s.fh }
func (s sample) Copy() chunks.Sample           { return s }
func (s sample) Type() chunkenc.ValueType {
	if s.fh != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

const (
	begin = int64(1_700_000_000_000)
	hour  = int64(3_600_000)
)

// randomSeries makes counters that fall back now and then, with gaps, staleness markers and odd values, of two names.
func randomSeries(rng *rand.Rand, odd bool) []storage.Series {
	var out []storage.Series
	for i := range 30 + rng.IntN(80) {
		name := []string{"a_total", "b"}[i%2]
		set := labels.FromStrings("__name__", name, "job", fmt.Sprint(i%3), "instance", fmt.Sprint(i), "le", fmt.Sprint(i%4))
		var samples []chunks.Sample
		v, step := 0.0, 5000+int64(rng.IntN(20_000))
		for t := begin - hour + int64(rng.IntN(10_000)); t < begin+hour; t += step {
			switch x := rng.IntN(100); {
			case x < 2:
				t += int64(rng.IntN(600_000))
				continue
			case x < 4:
				v = rng.Float64()
			case x < 6:
				samples = append(samples, sample{t: t, f: math.Float64frombits(value.StaleNaN)})
				continue
			case x < 8 && odd:
				samples = append(samples, sample{t: t, f: []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}[rng.IntN(4)]})
				continue
			default:
				v += rng.ExpFloat64() * 100
			}
			samples = append(samples, sample{t: t + int64(rng.IntN(500)), f: v})
		}
		out = append(out, storage.NewListSeries(set, samples))
	}
	return out
}

// randomQuery makes a query that has parts, at times below and beside others.
func randomQuery(rng *rand.Rand) string {
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	part := func() string {
		by := pick("", " by (job) ", " by (job, le) ", " without (instance) ", " without (instance, job) ", " by (nothing) ")
		f := pick("rate", "increase", "sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "count_over_time")
		sel := pick("a_total", "b", `a_total{job="1"}`, `{__name__="a_total", le=~"1|2"}`, "none")
		at := pick("", "", " offset 5m", " offset -90s")
		agg := pick("sum", "avg", "count", "min", "max")
		inner := fmt.Sprintf("%s(%s[%s]%s)", f, sel, pick("1m", "5m", "37s", "20m"), at)
		if rng.IntN(4) == 0 {
			inner = sel + at
		}
		if rng.IntN(3) == 0 {
			inner = "(" + inner + ")"
		}
		if rng.IntN(2) == 0 {
			return agg + " (" + inner + ")" + by
		}
		return agg + by + " (" + inner + ")"
	}
	switch rng.IntN(8) {
	case 0:
		return part() + pick(" / ", " + ", " > bool ", " and ", " or ", " unless ") + "on (job) group_left () " + part()
	case 1:
		return "topk(2, " + part() + ")"
	case 2:
		return "-" + part() + " * 2"
	case 3:
		return "max by (job) (" + part() + ")"
	case 4:
		return pick("round", "abs", "sqrt", "scalar", "ceil") + "(" + part() + ") + 1"
	case 5:
		return "max_over_time(" + part() + "[10m:1m])"
	case 6:
		return "absent(" + part() + ") or b"
	default:
		return part()
	}
}

func engines() (plain promql.QueryEngine, both *promeval.Engine) {
	p := parser.NewParser(parser.Options{})
	plain = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p, EnableAtModifier: true,
		EnableNegativeOffset: true,
	})
	return plain, promeval.New(plain, promeval.Options{Parser: p, Timeout: time.Minute, Lookback: 5 * time.Minute, Workers: 3})
}

// text writes a result with the bits of its values.
func text(query string, r *promql.Result) string {
	var b strings.Builder
	warnings, infos := r.Warnings.AsStrings(query, 0, 0)
	slices.Sort(warnings)
	slices.Sort(infos)
	fmt.Fprintln(&b, r.Err, warnings, infos)
	if m, ok := r.Value.(promql.Matrix); ok {
		for _, s := range m {
			fmt.Fprintln(&b, s.Metric)
			for _, p := range s.Floats {
				bits := math.Float64bits(p.F)
				if math.IsNaN(p.F) {
					bits = value.NormalNaN // which NaN an operation gives depends on the order of its operands
				}
				fmt.Fprintf(&b, " %d:%x", p.T, bits)
			}
			for _, p := range s.Histograms {
				fmt.Fprintf(&b, " %d:%s", p.T, p.H)
			}
		}
	}
	return b.String()
}

func run(t testing.TB, e promql.QueryEngine, m storage.Queryable, query string, step time.Duration) string {
	t.Helper()
	q, err := e.NewRangeQuery(t.Context(), m, nil, query, time.UnixMilli(begin), time.UnixMilli(begin+hour/2), step)
	if err != nil {
		return err.Error()
	}
	defer q.Close()
	return text(query, q.Exec(t.Context()))
}

// With or without the parts the answer is the same to the bit, warnings with their positions included.
func TestTheEngineIsTheJudge(t *testing.T) {
	t.Parallel()
	plain, both := engines()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := &memory{series: randomSeries(rng, seed%3 == 0)}
		for range 25 {
			query := randomQuery(rng)
			step := []time.Duration{time.Second * 15, time.Minute, 97 * time.Second}[rng.IntN(3)]
			require.Equal(t, run(t, plain, m, query, step), run(t, both, m, query, step), "seed %d: %s every %v", seed, query, step)
		}
	}
}

// A query with a part reads from one querier; histograms are the engine's.
func TestWhatIsTaken(t *testing.T) {
	t.Parallel()
	plain, both := engines()
	rng := rand.New(rand.NewPCG(1, 1))
	m := &memory{series: randomSeries(rng, false)}
	for query, want := range map[string]bool{
		`sum by (job) (rate(a_total[5m]))`: true, `sum(rate(a_total[5m])) / sum(rate(b[5m])) + on () b{instance="1"}`: true,
		`sum(rate({job="1"}[5m]))`: false, `sum(rate(a_total[5m] @ end()))`: false, `max_over_time(sum(rate(a_total[1m]))[5m:1m])`: false,
		`absent(sum(rate(a_total[5m])))`:       false,
		`sum without (le) (a_total offset 1m)`: true, `sum(a_total @ end())`: false,
		`stddev(rate(a_total[5m]))`: false, `sum(irate(a_total[5m]))`: false,
		`sum by (__name__) (rate(a_total[5m]))`: false,
	} {
		require.Equal(t, want, promeval.Takes(both, query), query)
		m.queriers = 0
		require.Equal(t, run(t, plain, m, query, time.Minute), run(t, both, m, query, time.Minute), query)
		require.Equal(t, 2, m.queriers, "one each: %s", query)
	}
	withHistograms := func() *memory {
		var samples []chunks.Sample
		for i, h := range tsdbutil.GenerateTestFloatHistograms(100) {
			samples = append(samples, sample{t: begin + int64(i)*15_000, fh: h}) // which the engine changes
		}
		h := storage.NewListSeries(labels.FromStrings("__name__", "a_total", "job", "h"), samples)
		return &memory{series: append(slices.Clone(m.series), h)}
	}
	got := run(t, both, withHistograms(), `sum by (job) (rate(a_total[5m]))`, time.Minute)
	require.Equal(t, run(t, plain, withHistograms(), `sum by (job) (rate(a_total[5m]))`, time.Minute), got)
	require.Contains(t, got, `{job="h"}`)
}

// Errors of the storage and the end of the context come out as the engine's do.
func TestFailures(t *testing.T) {
	t.Parallel()
	plain, both := engines()
	m := &memory{fail: fmt.Errorf("the disk is gone")}
	const query = `sum(rate(a_total[5m]))`
	require.Equal(t, run(t, plain, m, query, time.Minute), run(t, both, m, query, time.Minute))
	require.Equal(t, run(t, plain, m, "sum(rate(", time.Minute), run(t, both, m, "sum(rate(", time.Minute))
	q, err := both.NewRangeQuery(t.Context(), m, nil, query, time.UnixMilli(begin), time.UnixMilli(begin+hour), time.Minute)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorAs(t, q.Exec(ctx).Err, new(promql.ErrQueryCanceled))
}
