package promql_test

import (
	"context"
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// bench is a store with the API over it.
type bench struct {
	*promtest.Store
	api *promapi.API
}

func newBench(t *testing.T) *bench {
	s := promtest.New(t)
	return &bench{Store: s, api: promapi.New(promapi.Options{}, promapi.Deps{Metrics: s.Prom})}
}

// point is a sample in seconds.
type point struct {
	at    float64
	value float64
}

func stale() float64 { return math.Float64frombits(value.StaleNaN) }

// send writes one series of a remote write request.
func (b *bench) send(t *testing.T, labels []string, points ...point) {
	t.Helper()
	series := prompb.TimeSeries{}
	for i := 0; i < len(labels); i += 2 {
		series.Labels = append(series.Labels, prompb.Label{Name: labels[i], Value: labels[i+1]})
	}
	for _, p := range points {
		series.Samples = append(series.Samples, prompb.Sample{Timestamp: int64(p.at * 1000), Value: p.value})
	}
	body, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{series}}).Marshal()
	require.NoError(t, err)
	result, err := b.Write(context.Background(), body, promwrite.V1)
	require.NoError(t, err)
	require.Zero(t, result.Rejected, result.Summary())
}

// ask calls the API and returns the data.
func (b *bench) ask(t *testing.T, path string, form url.Values) json.RawMessage {
	t.Helper()
	a := b.api.Answer(t.Context(), promapi.Question{Org: promtest.Org, Database: signal.DefaultDatabase, Path: path, Form: form})
	require.Equal(t, 200, a.Status, "%s", a.Body)
	var envelope struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	require.NoError(t, json.Unmarshal(a.Body, &envelope), "%s", a.Body)
	require.Equal(t, "success", envelope.Status)
	return envelope.Data
}

// instant evaluates a query and returns the values of its series by their labels.
func (b *bench) instant(t *testing.T, query string, at float64) map[string]string {
	t.Helper()
	data := b.ask(t, "query", url.Values{"query": {query}, "time": {strconv.FormatFloat(at, 'f', 3, 64)}})
	var vector struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	}
	require.NoError(t, json.Unmarshal(data, &vector))
	if vector.Type == "scalar" {
		var v [2]any
		require.NoError(t, json.Unmarshal(vector.Result, &v))
		return map[string]string{"": v[1].(string)}
	}
	var rows []struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
		Values [][2]any          `json:"values"`
	}
	require.NoError(t, json.Unmarshal(vector.Result, &rows))
	out := make(map[string]string)
	for _, r := range rows {
		labels, err := json.Marshal(r.Metric)
		require.NoError(t, err)
		text := ""
		for _, v := range r.Values {
			text += v[1].(string) + " "
		}
		if vector.Type == "vector" {
			text = r.Value[1].(string)
		}
		require.NotContains(t, out, string(labels), "a series stands twice")
		out[string(labels)] = text
	}
	return out
}

// everywhere runs a check over fresh rows, flushed rows and after a kill.
func (b *bench) everywhere(t *testing.T, check func(*testing.T)) {
	t.Helper()
	t.Run("fresh", check)
	b.Restart(t)
	b.api = promapi.New(promapi.Options{}, promapi.Deps{Metrics: b.Prom})
	t.Run("replayed", check)
	b.Flush(t)
	t.Run("flushed", check)
	b.Merge(t)
	t.Run("merged", check)
}

// P01: an empty label is no label.
func TestEmptyLabelsAreAbsent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.send(t, []string{"__name__", "m", "job", "a", "x", ""}, point{60, 1})
	b.send(t, []string{"__name__", "m", "job", "a"}, point{120, 2})
	b.everywhere(t, func(t *testing.T) {
		one := map[string]string{`{"__name__":"m","job":"a"}`: "2"}
		require.Equal(t, one, b.instant(t, `m{x=""}`, 120))
		require.Empty(t, b.instant(t, `m{x!=""}`, 120))
		require.Equal(t, one, b.instant(t, `m{x=~".*"}`, 120))
		require.Equal(t, one, b.instant(t, `m{nolabel=""}`, 120))
		require.Equal(t, map[string]string{"{}": "1"}, b.instant(t, `count(m)`, 120))
	})
}

// P02: the staleness marker ends a series and is never shown; other NaN are values.
func TestStalenessMarkers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.send(t, []string{"__name__", "m"}, point{0, 1}, point{15, 1}, point{30, stale()}, point{90, 1})
	b.send(t, []string{"__name__", "n"}, point{0, math.NaN()})
	b.everywhere(t, func(t *testing.T) {
		require.NotEmpty(t, b.instant(t, `m`, 29))
		require.Empty(t, b.instant(t, `m`, 31))
		require.Empty(t, b.instant(t, `m`, 89))
		require.Equal(t, map[string]string{`{"__name__":"m"}`: "1 1 1 "}, b.instant(t, `m[100s]`, 95))
		require.Equal(t, map[string]string{`{}`: "3"}, b.instant(t, `count_over_time(m[100s])`, 95))
		require.Equal(t, map[string]string{`{"__name__":"n"}`: "NaN"}, b.instant(t, `n`, 5))
		require.NotEmpty(t, b.instant(t, `m`, 90+299.999), "a sample counts for five minutes")
		require.Empty(t, b.instant(t, `m`, 90+300.001))
	})
}

// P03: what JSON has no number for.
func TestNaNAndInfinitiesAreText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.send(t, []string{"__name__", "g"}, point{0, math.NaN()}, point{10, math.Inf(1)}, point{20, math.Inf(-1)})
	b.everywhere(t, func(t *testing.T) {
		for query, want := range map[string]string{"0/0": "NaN", "1/0": "+Inf", "-1/0": "-Inf"} {
			require.Equal(t, map[string]string{"": want}, b.instant(t, query, 0))
		}
		require.Equal(t, map[string]string{`{"__name__":"g"}`: "NaN +Inf -Inf "}, b.instant(t, `g[1m]`, 30))
	})
}

// P05: what cannot be stored of a request does not keep the rest out, and sending it again is harmless.
func TestBadSamplesAreRefusedAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const now = 100_000.0
	b.send(t, []string{"__name__", "seen"}, point{now, 1})
	request := &prompb.WriteRequest{}
	add := func(name string, p point) {
		request.Timeseries = append(request.Timeseries, prompb.TimeSeries{
			Labels: []prompb.Label{{Name: "__name__", Value: name}}, Samples: []prompb.Sample{{Timestamp: int64(p.at * 1000), Value: p.value}},
		})
	}
	for i := range 500 {
		add("good"+strconv.Itoa(i), point{now, 1})
	}
	add("seen", point{now, 2})         // equal time, other value
	add("seen", point{now, 1})         // equal time, equal value
	add("seen", point{now - 1800, 3})  // in the window
	add("seen", point{now - 3601, 11}) // before it
	body, err := request.Marshal()
	require.NoError(t, err)
	for range 2 {
		refused := &signal.RefusedSamples{}
		_, err = b.Write(t.Context(), body, promwrite.V1)
		require.ErrorAs(t, err, &refused)
		require.Equal(t, 1, refused.Duplicate)
		require.Equal(t, 1, refused.TooOld)
		require.Contains(t, err.Error(), "series seen{} at 1970-01-02T03:46:40Z: another value")
	}
	b.everywhere(t, func(t *testing.T) {
		require.Equal(t, map[string]string{"{}": "501"}, b.instant(t, `count({__name__=~".+"})`, now))
		require.Equal(t, map[string]string{`{"__name__":"seen"}`: "3 1 "}, b.instant(t, `seen[2h]`, now))
	})
}

// Samples of a series in several files and the buffer are one series.
func TestASeriesSpansFilesAndBuffers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 6 {
		b.send(t, []string{"__name__", "m", "i", "1"}, point{float64(i * 15), float64(i)})
		b.send(t, []string{"__name__", "m", "i", "2"}, point{float64(i * 15), float64(10 * i)})
		if i == 1 || i == 3 {
			b.Flush(t)
		}
	}
	b.everywhere(t, func(t *testing.T) {
		require.Equal(t, map[string]string{
			`{"__name__":"m","i":"1"}`: "0 1 2 3 4 5 ", `{"__name__":"m","i":"2"}`: "0 10 20 30 40 50 ",
		}, b.instant(t, `m[2m]`, 75))
		require.JSONEq(t, `["1","2"]`, string(b.ask(t, "label/i/values", url.Values{})))
		require.JSONEq(t, `["__name__","i"]`, string(b.ask(t, "labels", url.Values{})))
		require.JSONEq(t, `[{"__name__":"m","i":"1"}]`, string(b.ask(t, "series", url.Values{"match[]": {`m{i="1"}`}})))
		require.JSONEq(t, `[]`, string(b.ask(t, "series", url.Values{"match[]": {`m`}, "start": {"76"}, "end": {"80"}})))
	})
}

// Of two values at one time, written by processes that do not know of each other, the later one counts, merged or not.
func TestTheLaterOfTwoValuesCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.send(t, []string{"__name__", "m"}, point{0, 1}, point{15, 2})
	b.Flush(t)
	b.Restart(t) // forgets what it has seen
	b.send(t, []string{"__name__", "m"}, point{15, 3}, point{30, 4})
	b.api = promapi.New(promapi.Options{}, promapi.Deps{Metrics: b.Prom})
	b.everywhere(t, func(t *testing.T) {
		require.Equal(t, map[string]string{`{"__name__":"m"}`: "1 3 4 "}, b.instant(t, `m[1m]`, 30))
	})
	segments, err := b.Catalog.Snapshot(t.Context(), catalog.SnapshotQuery{Datasets: []catalog.DatasetID{1}, End: math.MaxInt64})
	require.NoError(t, err)
	require.Len(t, segments.Segments, 1)
	require.EqualValues(t, 3, segments.Segments[0].Rows, "the merge has dropped the earlier value")
}

// A range query evaluates at every step.
func TestRangeQuery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 10 {
		b.send(t, []string{"__name__", "c"}, point{float64(i * 15), float64(i * 15)})
	}
	b.everywhere(t, func(t *testing.T) {
		data := b.ask(t, "query_range", url.Values{
			"query": {"max_over_time(c[1m])"}, "start": {"60"}, "end": {"90"}, "step": {"15"},
		})
		require.JSONEq(t, `{"resultType":"matrix","result":[{"metric":{},"values":[[60,"60"],[75,"75"],[90,"90"]]}]}`, string(data))
	})
}

// What senders say of metrics and the exemplars of series are found, fresh and flushed.
func TestMetadataAndExemplars(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	now := time.Now().Truncate(time.Second)
	body, err := (&prompb.WriteRequest{
		Timeseries: []prompb.TimeSeries{{
			Labels:    []prompb.Label{{Name: "__name__", Value: "m"}, {Name: "a", Value: "b"}},
			Samples:   []prompb.Sample{{Timestamp: now.UnixMilli(), Value: 1}},
			Exemplars: []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace_id", Value: "t"}}, Value: 7, Timestamp: now.UnixMilli()}},
		}},
		Metadata: []prompb.MetricMetadata{{Type: prompb.MetricMetadata_COUNTER, MetricFamilyName: "m", Help: "of m", Unit: "s"}},
	}).Marshal()
	require.NoError(t, err)
	_, err = b.Write(t.Context(), body, promwrite.V1)
	require.NoError(t, err)
	b.everywhere(t, func(t *testing.T) {
		require.JSONEq(t, `{"m":[{"type":"counter","help":"of m","unit":"s"}]}`, string(b.ask(t, "metadata", url.Values{})))
		require.JSONEq(t, `{}`, string(b.ask(t, "metadata", url.Values{"metric": {"other"}})))
		require.JSONEq(t, `[{"seriesLabels":{"__name__":"m","a":"b"},"exemplars":[{"labels":{"trace_id":"t"},"value":"7","timestamp":`+
			strconv.FormatInt(now.Unix(), 10)+`}]}]`, string(b.ask(t, "query_exemplars", url.Values{"query": {"rate(m[5m])"}})))
		require.Equal(t, map[string]string{`{"__name__":"m","a":"b"}`: "1 "}, b.instant(t, `m[5m]`, float64(now.Unix())),
			"rows without a sample are none")
	})
}
