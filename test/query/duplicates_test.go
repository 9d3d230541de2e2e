package query_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/signal"
)

// sample is one sample of the metric m.
type sample struct {
	series int
	second int
	value  float64
}

func metric(name string) signal.Stream {
	return signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Metrics, Name: name}
}

// sampleTime is when second 0 is: a closed day, so that files of it merge.
func sampleTime() time.Time { return now.AddDate(0, 0, -3) }

// writeSamples writes a batch of samples of m.
func (s *store) writeSamples(samples ...sample) {
	s.t.Helper()
	b := signal.NewBuilder()
	m := signal.NewMetricBuilder(b)
	for _, x := range samples {
		labels := &signal.LabelSet{}
		labels.Add([]byte("i"), []byte(strconv.Itoa(x.series)))
		at := sampleTime().Add(time.Duration(x.second) * time.Second)
		m.Append(&signal.Sample{Name: []byte("m"), Nanos: at.UnixNano(), Labels: labels, Value: x.value, HasValue: true})
	}
	s.WriteRecord(metric("m"), b.Finish())
}

// countOverTime asks PromQL for the number of samples of m and their sum.
func (s *store) countOverTime() string {
	s.t.Helper()
	prom := promstore.New(promstore.Options{}, promstore.Deps{Catalog: s.catalog, Buffers: s, Files: s, Clock: s.clock})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
	defer func() { require.NoError(s.t, engine.Close()) }()
	ask := func(query string) float64 {
		q, err := engine.NewInstantQuery(s.t.Context(), prom.Queryable("acme", signal.DefaultDatabase), nil, query, sampleTime().Add(time.Hour))
		require.NoError(s.t, err)
		defer q.Close()
		v, err := q.Exec(s.t.Context()).Vector()
		require.NoError(s.t, err)
		if len(v) == 0 {
			return 0
		}
		return v[0].F
	}
	return fmt.Sprintf("%v|%v", ask("sum(count_over_time(m[2h]))"), ask("sum(sum_over_time(m[2h]))"))
}

// Samples that came to two writers, or twice to one, count once in SQL as in PromQL: of those of a series and time the one of the greatest
// version. Buffered, flushed and merged rows are mixed in every order; a map says what is right.
func TestDuplicateSamplesCountOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			s := newStore(t, storeOptions{groupRows: 8})
			s.publishLabels("m", "i")
			other := s.peer("n2")
			want := make(map[sample]float64)
			check := func(when string) {
				sum, large := 0.0, 0
				for _, v := range want {
					sum += v
					if v >= 500 {
						large++
					}
				}
				require.Equal(t, s.countOverTime(), fmt.Sprintf("%v|%v", len(want), sum), when)
				require.Equal(t, []string{fmt.Sprintf("%v|%v", len(want), sum)}, s.ask("acme", "SELECT count(*), sum(value) FROM m").rows, when)
				require.Equal(t, []string{strconv.Itoa(large)}, s.ask("acme", "SELECT count(*) FROM m WHERE value >= 500").rows,
					"%s: a file that is outdone must not come back when the statistics of the other one rule it out", when)
				require.Equal(t, []string{strconv.Itoa(len(want))}, s.ask("acme", "SELECT count(DISTINCT (_timestamp, i, _labels)) FROM m").rows, when)
			}
			for step := range 12 {
				batch := make([]sample, 1+random.IntN(30))
				from, span := random.IntN(60), 1+random.IntN(40)
				for i := range batch {
					x := sample{series: random.IntN(4), second: from + random.IntN(span)}
					want[x] = float64(random.IntN(1000))
					batch[i] = sample{x.series, x.second, want[x]}
				}
				if step == 4 { // what comes later counts more, so the first writer's rows become files before the second writes
					s.Flush()
				}
				if step >= 4 && step < 8 {
					other.writeSamples(batch...)
				} else {
					s.writeSamples(batch...)
				}
				if step == 7 {
					other.Flush()
				}
				check(fmt.Sprintf("step %d", step))
				switch random.IntN(4) {
				case 0:
					s.Flush()
				case 1:
					other.Flush()
				case 2:
					require.NoError(t, s.compactor().Compact(t.Context()))
				}
				check(fmt.Sprintf("after step %d", step))
			}
			s.Flush()
			check("flushed")
			require.NoError(t, s.compactor().Compact(t.Context()))
			require.NoError(t, s.compactor().Seal(t.Context()))
			check("merged")
			require.Len(t, s.live(metric("m")), 1)
		})
	}
}
