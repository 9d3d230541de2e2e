package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nanos asks for the exact event time of each row, in nanoseconds since 1970.
const nanos = "epoch_us(_timestamp) * 1000 + _timestamp_nanos"

// Unix times with a fraction are exact: no float comes between.
func TestCase_T01(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.accept(t, "s1", `{"i":1,"_timestamp":1741600000.123456789}
{"i":2,"_timestamp":"1741600000.123456789"}
{"i":3,"_timestamp":1741600000123.5}
{"i":4,"_timestamp":1.7416e9}
{"i":5,"_timestamp":1741600000123456789}
{"i":6,"_timestamp":1741600000123456}`)
	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{
			"1741600000123456789", "1741600000123456789", "1741600000123500000", "1741600000000000000", "1741600000123456789",
			"1741600000123456000",
		}, s.column(t, "SELECT "+nanos+" FROM s1 ORDER BY i"))
	})
}

// A time without a zone is UTC, wherever the server stands; offsets count; a day that does not exist refuses its line.
func TestCase_T02(t *testing.T) {
	t.Parallel()
	s := start(t, "TZ", "Asia/Shanghai")
	times := []string{
		"2024-07-29 14:57:14.415002", "2024-07-29T14:57:14.415002", "2024-07-29T14:57:14+08:00", "2024-07-29T14:57:14-0330",
		"2024-07-29t14:57:14z", "2016-12-31T23:59:60Z",
	}
	bad := []string{"2024-02-30T00:00:00Z", "2024-07-29T25:00:00Z", "yesterday", "2024-07-29T14:57:60Z"}
	var body strings.Builder
	for i, v := range append(times, bad...) {
		fmt.Fprintf(&body, "{\"i\":%d,\"_timestamp\":%q}\n", i, v)
	}
	status, r := s.logs(t, "s1", body.String())
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, len(times), r.Accepted)
	require.Equal(t, len(bad), r.Rejected)
	for i, e := range r.Errors {
		require.Equal(t, len(times)+i, e.Index)
	}
	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{
			"2024-07-29T14:57:14.415002Z", "2024-07-29T14:57:14.415002Z", "2024-07-29T06:57:14Z", "2024-07-29T18:27:14Z",
			"2024-07-29T14:57:14Z", "2017-01-01T00:00:00Z",
		}, s.column(t, "SELECT _timestamp FROM s1 ORDER BY i"))
	})
}

// A log record without a time has the time it was observed, else received; zero is no time.
func TestCase_T04(t *testing.T) {
	t.Parallel()
	s := start(t)
	record := func(name, times string) string { return fmt.Sprintf(`{"body":{"stringValue":%q}%s}`, name, times) }
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + strings.Join([]string{
		record("absent", ""), record("zero", `,"timeUnixNano":"0"`), record("zeros", `,"timeUnixNano":"00"`),
		record("observed", `,"timeUnixNano":0,"observedTimeUnixNano":"1741600000000000001"`),
		record("neither", `,"observedTimeUnixNano":0`),
	}, ",") + `]}]}]}`
	before := time.Now()
	res := s.Post(t, "/v1/logs", body)
	after := time.Now()
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	require.JSONEq(t, `{}`, string(res.Body))
	s.stages(t, func(t *testing.T) {
		require.Equal(t, "1741600000000000001", s.one(t, "SELECT "+nanos+" FROM otel_logs WHERE message = 'observed'"))
		received := fmt.Sprintf("SELECT message FROM otel_logs WHERE _timestamp BETWEEN '%s' AND '%s' ORDER BY message",
			before.UTC().Format(time.RFC3339Nano), after.UTC().Format(time.RFC3339Nano))
		require.Equal(t, []string{"absent", "neither", "zero", "zeros"}, s.column(t, received))
	})
}

// What is too old or too new is refused by name with the times that are accepted; what is accepted can be found.
func TestCase_T05(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_LIMITS_REJECT_OLD_SAMPLES_MAX_AGE", "1w")
	now := time.Now()
	old := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
	push := func(entries ...time.Time) string {
		values := make([]string, len(entries))
		for i, at := range entries {
			values[i] = fmt.Sprintf(`["%d","entry %d"]`, at.UnixNano(), i)
		}
		return `{"streams":[{"stream":{"app":"a"},"values":[` + strings.Join(values, ",") + `]}]}`
	}
	res := s.Post(t, "/loki/api/v1/push", push(old, now, now.Add(2*time.Hour), now.Add(5*time.Minute)))
	require.Equal(t, http.StatusBadRequest, res.Status)
	answer := string(res.Body)
	require.Contains(t, answer, "oldest")
	require.Contains(t, answer, "newest")
	require.Contains(t, answer, now.Add(-7*24*time.Hour).UTC().Format("2006-01-02"))
	require.InDelta(t, 1, s.metric(t, `millstream_discarded_rows_total{org="t1",reason="greater_than_max_sample_age"}`), 0)
	require.InDelta(t, 1, s.metric(t, `millstream_discarded_rows_total{org="t1",reason="too_far_in_future"}`), 0)

	s.stages(t, func(t *testing.T) {
		between := func(from, to string) []string {
			a := s.Post(t, "/api/v1/query?format=csv",
				fmt.Sprintf(`{"statement":"SELECT message FROM loki_logs ORDER BY _timestamp","start":%q,"end":%q}`, from, to))
			require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
			return strings.Split(strings.TrimSpace(string(a.Body)), "\n")[1:]
		}
		require.Equal(t, []string{"entry 1"}, between("now-15m", "now"))
		require.Equal(t, []string{"entry 3"}, between("now+1m", "now+3h"))
		require.Equal(t, []string{"entry 1", "entry 3"}, s.column(t, "SELECT message FROM loki_logs ORDER BY _timestamp"))
	})
}
