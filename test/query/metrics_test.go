package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
)

// TestRowsWithoutASampleAreNoRows writes rows that describe a metric or carry an exemplar beside samples: SQL shows the samples alone.
func TestRowsWithoutASampleAreNoRows(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	of := signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Metrics, Name: "m"}
	write := func(samples ...signal.Sample) {
		b := signal.NewBuilder()
		m := signal.NewMetricBuilder(b)
		for i, x := range samples {
			x.Name, x.Nanos, x.Labels = []byte("m"), now.UnixNano()+int64(i), &signal.LabelSet{}
			m.Append(&x)
		}
		s.WriteRecord(of, b.Finish())
	}
	write(signal.Sample{Kind: signal.MetricCounter, Description: []byte("what it is")})
	require.Equal(t, []string{"0"}, s.ask("acme", "SELECT count(*) FROM m").rows)
	write(
		signal.Sample{Value: 1, HasValue: true}, signal.Sample{Exemplars: []byte(`[]`)}, signal.Sample{Flags: signal.FlagNoValue},
		signal.Sample{Histogram: []byte(`{"count":1}`)},
	)
	const count = "SELECT count(*), count(value), sum(value) FROM m"
	require.Equal(t, []string{"3|1|1"}, s.ask("acme", count).rows)
	s.Flush()
	require.Equal(t, []string{"3|1|1"}, s.ask("acme", count).rows)
}
