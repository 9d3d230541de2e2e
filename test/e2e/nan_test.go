package e2e_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What JSON has no number for is a string, in Prometheus' API and in SQL's; a row that says it without quotes is refused alone.
func TestCase_P03(t *testing.T) {
	t.Parallel()
	s := start(t)
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	points := ""
	for i, v := range []string{`"NaN"`, `"Infinity"`, `"-Infinity"`, `1.5`} {
		points += fmt.Sprintf(`,{"timeUnixNano":"%d","asDouble":%s,"attributes":[{"key":"i","value":{"stringValue":"%d"}}]}`, at.UnixNano(), v, i)
	}
	gauge := `{"name":"g","gauge":{"dataPoints":[` + points[1:] + `]}}`
	res := s.Post(t, "/v1/metrics", `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[`+gauge+`]}]}]}`)
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	require.JSONEq(t, `{}`, string(res.Body))

	status, r := s.logs(t, "s1", `{"i":0,"v":1}`+"\n"+`{"i":1,"v":NaN}`+"\n"+`{"i":2,"v":-Infinity}`+"\n"+`{"i":3,"v":2.5}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 2, r.Rejected)
	require.Len(t, r.Errors, 2)
	require.Equal(t, []int{1, 2}, []int{r.Errors[0].Index, r.Errors[1].Index})
	status, _ = s.logs(t, "s1", `{"i":4,"v":NaN}`)
	require.Equal(t, http.StatusBadRequest, status)

	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{"0", "3"}, s.column(t, "SELECT i FROM s1 ORDER BY i"))
		for expression, want := range map[string]string{"0/0": "NaN", "1/0": "+Inf", "-1/0": "-Inf"} {
			scalar := s.Get(t, "/prometheus/api/v1/query?"+url.Values{"query": {expression}}.Encode())
			require.Equal(t, http.StatusOK, scalar.Status)
			requireJSON(t, scalar.Body)
			require.Contains(t, string(scalar.Body), `,"`+want+`"]`, expression)
		}
		for i, want := range []string{"NaN", "+Inf", "-Inf", "1.5"} {
			require.Equal(t, want, s.prom(t, fmt.Sprintf("g{i=%q}", fmt.Sprint(i)), at))
		}
		// In SQL the cells of every format that is text are the same.
		const statement = "SELECT value FROM g UNION ALL SELECT 'NaN'::DOUBLE UNION ALL SELECT 1e308*10 UNION ALL SELECT -1e308*10 ORDER BY value"
		want := []string{"-Inf", "-Inf", "1.5", "+Inf", "+Inf", "NaN", "NaN"}
		require.Equal(t, want, s.column(t, statement))
		for _, format := range []string{"application/json", "application/x-ndjson"} {
			body, _ := s.ask(t, format, statement)
			requireJSON(t, body)
			require.Equal(t, 2, strings.Count(string(body), `"NaN"`), "%s: %s", format, body)
			require.Equal(t, 2, strings.Count(string(body), `"-Inf"`), "%s: %s", format, body)
		}
		body, _ := s.ask(t, "text/csv", statement)
		records, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		require.NoError(t, err)
		require.Len(t, records, len(want)+1)
		for i, cell := range want {
			require.Equal(t, []string{cell}, records[i+1])
		}
		// Inside of what is JSON itself, too.
		for _, statement := range []string{
			"SELECT ['NaN'::DOUBLE, 1e308*10] AS l", "SELECT {'a': '-inf'::FLOAT} AS o", "SELECT MAP {'k': 'nan'::DOUBLE} AS m",
		} {
			body, _ := s.ask(t, "application/json", statement)
			requireJSON(t, body)
			require.Regexp(t, `"(NaN|-Inf)"`, string(body), statement)
		}
		require.Equal(t, "4", s.one(t, "SELECT count(value) FROM g"))
		require.Equal(t, []string{"1.5"}, s.column(t, "SELECT value FROM g WHERE isfinite(value)"))
	})
}

// requireJSON holds that a text is JSON values one behind the other.
func requireJSON(t *testing.T, body []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, "%s", body)
	}
}
