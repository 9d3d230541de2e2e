package ingress_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// rowLimited returns a Front whose default database has a row limit in org t1, and its clock.
func rowLimited(w ingress.Writer, limit uint64) (*ingress.Front, *clock.Fake) {
	c := clock.NewFake(time.Unix(1_741_600_800, 0))
	rows := quota.NewRows(quota.RowsOptions{Clock: c, Limit: func(d quota.Database) quota.RowLimit {
		if d == (quota.Database{Org: "t1", Name: signal.DefaultDatabase}) {
			return quota.RowLimit{PerSecond: limit}
		}
		return quota.RowLimit{}
	}})
	return ingress.NewFront(w, ingress.Limits{Rows: rows}, c, nil), c
}

// senders write n rows over each protocol and return how many are stored.
func senders() map[string]func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
	return map[string]func(context.Context, *ingress.Front, tenant.ID, int) (int, error){
		"array": func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
			body := "\n [" + strings.ReplaceAll(strings.TrimSpace(lines(n)), "\n", ",") + "]"
			res, err := f.JSON(ctx, ingress.Target{Org: org, Signal: signal.Logs, Stream: "s"}, strings.NewReader(body), "")
			return res.Accepted, err
		},
		"objects": func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
			body := strings.Repeat("{\n\"a\": 1\n}\n", n)
			res, err := f.JSON(ctx, ingress.Target{Org: org, Signal: signal.Logs, Stream: "s"}, strings.NewReader(body), "")
			return res.Accepted, err
		},
		"bulk": func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
			var body strings.Builder
			for i := range n {
				fmt.Fprintf(&body, "{\"create\":{\"_index\":\"i%d\"}}\n{\"n\":1}\n", i%300)
			}
			res, err := f.Bulk(ctx, ingress.Target{Org: org}, strings.NewReader(body.String()), "")
			return res.Result.Accepted, errors.Join(err, res.Refused)
		},
		"loki": func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
			values := strings.TrimSuffix(strings.Repeat(`["1741600800000000000","x"],`, n), ",")
			body := `{"streams":[{"stream":{"a":"b"},"values":[` + values + `]}]}`
			res, err := f.Loki(ctx, ingress.Target{Org: org}, "application/json", "", strings.NewReader(body))
			return res.Accepted, err
		},
		"otlp": func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
			records := strings.TrimSuffix(strings.Repeat(`{"body":{"stringValue":"x"}},`, n), ",")
			body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + records + `]}]}]}`
			res, err := f.OTLP(ctx, ingress.Target{Org: org, Signal: signal.Logs}, []byte(body), otlp.JSON)
			return res.Accepted, err
		},
		"remote write": func(ctx context.Context, f *ingress.Front, org tenant.ID, n int) (int, error) {
			series := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "up"}}}
			for i := range n {
				series.Samples = append(series.Samples, prompb.Sample{Timestamp: 1_741_600_000_000 + int64(i), Value: 1})
			}
			body, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{series}}).Marshal()
			if err != nil {
				return 0, err
			}
			res, err := f.RemoteWrite(ctx, ingress.Target{Org: org}, "application/x-protobuf", "snappy",
				strings.NewReader(string(snappy.Encode(nil, body))))
			if err != nil && res.Samples != 0 {
				return res.Samples, errors.New("samples of a refused request are told as written")
			}
			return res.Samples, err
		},
	}
}

// TestRowLimit sends requests of every protocol whose bodies are whole: they are admitted as a whole while one token is there, and
// refused as a whole, before the writer sees anything.
func TestRowLimit(t *testing.T) {
	t.Parallel()
	for name, send := range senders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writer{}
			f, c := rowLimited(w, 1000)
			rows, err := send(t.Context(), f, "t1", 3000)
			require.NoError(t, err)
			require.Equal(t, []int{3000, 3000}, []int{rows, w.rows})
			before := w.batches
			for range 20 {
				rows, err = send(t.Context(), f, "t1", 500)
				requireRowsRefused(t, err, 500)
				require.Zero(t, rows)
			}
			require.Equal(t, before, w.batches, "nothing of a refused request is written")
			rows, err = send(t.Context(), f, "t2", 10_000)
			require.NoError(t, err, "the limit is of one org's database")
			require.Equal(t, 10_000, rows)
			rows, err = send(quota.Internal(t.Context()), f, "t1", 10_000)
			require.NoError(t, err, "writes of the process's own are exempt")
			require.Equal(t, 10_000, rows)
			c.Advance(2 * time.Second)
			_, err = send(t.Context(), f, "t1", 1)
			requireRowsRefused(t, err, 1)
			c.Advance(time.Millisecond)
			rows, err = send(t.Context(), f, "t1", 1)
			require.NoError(t, err)
			require.Equal(t, 1, rows)
		})
	}
}

func requireRowsRefused(t *testing.T, err error, rows int64) {
	t.Helper()
	refused, ok := errors.AsType[*quota.RowsRefused](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, rows, refused.Rows)
	require.Equal(t, "public", refused.Database)
	require.True(t, fault.Is(err, fault.Limited))
}

// TestLargeBodiesPassWhole sends what is decoded into several batches: none is written before all are admitted.
func TestLargeBodiesPassWhole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"array", "bulk"} {
		w := &writer{}
		f, _ := rowLimited(w, 1000)
		send := senders()[name]
		rows, err := send(t.Context(), f, "t1", 50_000)
		require.NoError(t, err, name)
		require.Equal(t, []int{50_000, 50_000}, []int{rows, w.rows}, name)
		require.GreaterOrEqual(t, w.batches, 3, name)
		rows, err = send(t.Context(), f, "t1", 50_000)
		requireRowsRefused(t, err, 50_000)
		require.Equal(t, []int{0, 50_000}, []int{rows, w.rows}, name)
	}
}

// TestLinesAreAdmittedByChunk is decision E5: each chunk is a batch of its own, the first that is refused ends the request.
func TestLinesAreAdmittedByChunk(t *testing.T) {
	t.Parallel()
	w := &writer{}
	f, _ := rowLimited(w, 25_000)
	result, err := f.JSON(t.Context(), target(), strings.NewReader(lines(70_000)), "")
	requireRowsRefused(t, err, 20_000)
	require.Equal(t, []int{40_000, 40_000, 40_000}, []int{w.rows, result.Accepted, result.Settled})
	require.Contains(t, fault.Message(err), "40000 rows are stored")
	require.Contains(t, fault.Message(err), `database "public": 20000 rows refused`)
	require.Equal(t, time.Second, fault.RetryAfter(err))
}

// TestConvertedRowsCount is rule 7: a histogram's point costs the rows that it becomes, and refused rows cost nothing.
func TestConvertedRowsCount(t *testing.T) {
	t.Parallel()
	w := &writer{}
	f, _ := rowLimited(w, 100)
	const point = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[
		{"timeUnixNano":"1741600000000000000","count":"5","sum":9,"bucketCounts":["1","1","1","1","1"],"explicitBounds":[1,2,3,4]}]}}]}]}]}`
	_, err := f.OTLP(t.Context(), ingress.Target{Org: "t1", Signal: signal.Metrics}, []byte(point), otlp.JSON)
	require.NoError(t, err)
	require.Positive(t, w.rows)
	cost := w.rows
	_, err = f.JSON(t.Context(), target(), strings.NewReader("["+strings.Repeat("{\"a\":1},", 99-cost)+"{\"a\":1}, 5]"), "")
	require.NoError(t, err)
	require.Equal(t, 100, w.rows, "the element that is no row costs nothing")
	_, err = f.JSON(t.Context(), target(), strings.NewReader("{\"a\":1}\n{\"a\":1}"), "")
	requireRowsRefused(t, err, 2)
	res, err := f.JSON(t.Context(), target(), strings.NewReader("[5, 6]"), "")
	require.NoError(t, err, "no rows, no charge")
	require.Equal(t, 2, res.Rejected)
}

// TestAFailedWriteIsCharged is rule 6.
func TestAFailedWriteIsCharged(t *testing.T) {
	t.Parallel()
	w := &writer{failFrom: 1, err: fault.New(fault.Unavailable, "disk full")}
	f, c := rowLimited(w, 1000)
	_, err := senders()["array"](t.Context(), f, "t1", 1000)
	require.True(t, fault.Is(err, fault.Unavailable))
	_, err = senders()["array"](t.Context(), f, "t1", 1)
	requireRowsRefused(t, err, 1)
	c.Advance(time.Millisecond)
	_, err = senders()["array"](t.Context(), f, "t1", 1)
	require.True(t, fault.Is(err, fault.Unavailable))
}

// TestABrokenArrayKeepsWhatCameBefore as without a limit.
func TestABrokenArrayKeepsWhatCameBefore(t *testing.T) {
	t.Parallel()
	for _, limit := range []uint64{0, 1000} {
		w := &writer{}
		f, _ := rowLimited(w, limit)
		res, err := f.JSON(t.Context(), target(), strings.NewReader(`[{"a":1},{"a":2},{"a"`), "")
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		require.Equal(t, []int{w.rows, w.rows}, []int{res.Accepted, res.Settled}, "limit %d", limit)
	}
}

// TestBodiesThatMustBeWholeAreBounded sends, to a database with a row limit and an org without a byte rate, an array above the largest
// body, and lines of which the first begins where the look at the body ends: they are lines, whatever the look shows.
func TestBodiesThatMustBeWholeAreBounded(t *testing.T) {
	t.Parallel()
	w := &writer{}
	rows := quota.NewRows(quota.RowsOptions{Clock: clock.System{}, Limit: func(quota.Database) quota.RowLimit {
		return quota.RowLimit{PerSecond: 1_000_000}
	}})
	f := ingress.NewFront(w, ingress.Limits{Rows: rows, MaxBodyBytes: 100_000}, clock.System{}, nil)
	_, err := f.JSON(t.Context(), target(), strings.NewReader("["+strings.TrimSuffix(strings.Repeat(`{"n":1},`, 50_000), ",")+"]"), "")
	require.True(t, fault.Is(err, fault.TooLarge), "%v", err)
	require.Contains(t, fault.Message(err), "intake.max_body_size")
	require.Zero(t, w.rows)
	res, err := f.JSON(t.Context(), target(), strings.NewReader(strings.Repeat(" ", 4095)+lines(50_000)), "")
	require.NoError(t, err)
	require.Equal(t, []int{50_000, 50_000}, []int{res.Accepted, w.rows})
}
