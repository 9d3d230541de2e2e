package promql_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// manyNames is a load of many metrics.
type manyNames struct {
	names, series int // metrics, and series of each
	steps         int // samples of each series, one a minute
	flushEvery    int // steps
}

// Many metric names are few files: a flush is one a partition, however many metrics there are.
func TestManyNamesAreFewFiles(t *testing.T) {
	t.Parallel()
	manyNames{names: 500, series: 4, steps: 6, flushEvery: 2}.run(t)
}

func (m manyNames) run(t *testing.T) {
	b := newBench(t)
	const begin = 1_760_000_400 // at a full hour
	segments := func() (n int, rows int64) {
		s, err := b.Catalog.Snapshot(t.Context(), catalog.SnapshotQuery{Datasets: []catalog.DatasetID{1}, End: math.MaxInt64})
		require.NoError(t, err)
		for _, x := range s.Segments {
			rows += x.Rows
		}
		return len(s.Segments), rows
	}
	flushes, before := 0, 0
	flush := func() {
		b.Flush(t)
		flushes++
		n, _ := segments()
		require.LessOrEqual(t, n-before, 4, "files of a flush")
		before = n
	}
	began := time.Now()
	for step := range m.steps {
		m.send(t, b, begin+int64(step)*60, flush)
		if (step+1)%m.flushEvery == 0 || step+1 == m.steps {
			flush()
		}
	}
	t.Logf("%d samples written in %v", m.names*m.series*m.steps, time.Since(began).Round(time.Millisecond))
	n, rows := segments()
	require.LessOrEqual(t, n, 4*flushes)
	require.EqualValues(t, m.names*m.series*m.steps, rows)
	require.Len(t, m.texts(t, b, "label/__name__/values", nil), m.names)
	require.Len(t, m.texts(t, b, "label/instance/values", nil), m.series)
	require.Equal(t, []string{"__name__", "instance", "job"}, m.texts(t, b, "labels", nil))
	of := url.Values{"match[]": {"app_metric_7_total"}}
	require.Len(t, m.texts(t, b, "label/instance/values", of), m.series)
	require.Equal(t, []string{"__name__", "instance", "job"}, m.texts(t, b, "labels", of))
	m.measure(t, b)
	at := float64(begin + int64(m.steps-1)*60)
	require.Equal(t, map[string]string{"{}": strconv.Itoa(m.series)}, b.instant(t, "count(app_metric_7_total)", at))
	streams, err := b.Catalog.Streams(t.Context(), promtest.Org)
	require.NoError(t, err)
	require.Len(t, streams, m.names, "a row of the catalog each, and none a series")
}

// send writes one sample of every series. It calls full when the buffers are, and tries again.
func (m manyNames) send(t *testing.T, b *bench, seconds int64, full func()) {
	t.Helper()
	const perRequest = 5000
	request := &prompb.WriteRequest{}
	flush := func() {
		body, err := request.Marshal()
		require.NoError(t, err)
		_, err = b.Write(t.Context(), body, promwrite.V1)
		if fault.Is(err, fault.Unavailable) {
			full()
			_, err = b.Write(t.Context(), body, promwrite.V1)
		}
		require.NoError(t, err)
		request.Timeseries = request.Timeseries[:0]
	}
	for name := range m.names {
		metric := fmt.Sprintf("app_metric_%d_total", name)
		for i := range m.series {
			request.Timeseries = append(request.Timeseries, prompb.TimeSeries{
				Labels: []prompb.Label{
					{Name: "__name__", Value: metric}, {Name: "instance", Value: "10.0.0." + strconv.Itoa(i)}, {Name: "job", Value: "app"},
				},
				Samples: []prompb.Sample{{Timestamp: seconds * 1000, Value: float64(name + i)}},
			})
			if len(request.Timeseries) == perRequest {
				flush()
			}
		}
	}
	if len(request.Timeseries) > 0 {
		flush()
	}
}

// measure asks for the series of several metrics, of labels and of values, first of a store that has read nothing yet and then of the same
// again, and reports the medians.
func (m manyNames) measure(t *testing.T, b *bench) {
	t.Helper()
	const metrics = 9
	for path, want := range map[string]int{"series": m.series, "labels": 3, "label/instance/values": m.series} {
		took := make(map[string][]time.Duration)
		for i := range metrics {
			store := promstore.New(promstore.Options{}, promstore.Deps{Catalog: b.Catalog, Buffers: b.Ingest, Files: b.Files})
			x := &bench{Store: b.Store, api: promapi.New(promapi.Options{}, promapi.Deps{Metrics: store})}
			of := url.Values{"match[]": {fmt.Sprintf("app_metric_%d_total", (i*m.names/metrics+7)%m.names)}}
			for _, when := range []string{"cold", "warm"} {
				began := time.Now()
				data := x.ask(t, path, of)
				took[when] = append(took[when], time.Since(began))
				var found []json.RawMessage
				require.NoError(t, json.Unmarshal(data, &found))
				require.Len(t, found, want)
			}
		}
		for _, when := range []string{"cold", "warm"} {
			slices.Sort(took[when])
			t.Logf("%s of one metric, %s: %v, at most %v", path, when, took[when][metrics/2], took[when][metrics-1])
		}
	}
}

// texts asks a question about labels and reports how long the answer took.
func (manyNames) texts(t *testing.T, b *bench, path string, form url.Values) (out []string) {
	t.Helper()
	for _, when := range []string{"first", "again"} {
		began := time.Now()
		data := b.ask(t, path, form)
		t.Logf("%s %v, %s: %v", path, form, when, time.Since(began).Round(100*time.Microsecond))
		require.NoError(t, json.Unmarshal(data, &out))
	}
	return out
}
