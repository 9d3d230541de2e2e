package e2e_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
)

// ask posts a statement for a format and returns the body and the trailer's meta.
func (s store) ask(t *testing.T, accept, statement string) (body []byte, meta string) {
	t.Helper()
	data, err := json.Marshal(map[string]string{"statement": statement})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/api/v1/query", bytes.NewReader(data))
	require.NoError(t, err)
	req.Header.Set("X-Scope-OrgID", s.Org)
	req.Header.Set("Accept", accept)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
	require.Equal(t, strings.Split(accept, ";")[0], strings.Split(res.Header.Get("Content-Type"), ";")[0])
	return body, res.Trailer.Get("X-Millstream-Meta")
}

func TestAnswersInAllFormats(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.accept(t, "s1", `[{"_timestamp":"2026-11-01T00:00:00.5Z","i":9007199254740993,"f":0.1,"b":true,"s":"a,\"b\"\nc","l":[1,"x"],"n":null}]`)
	const statement = "SELECT _timestamp, i, f, b, s, l, NULL::INT AS nothing FROM s1"
	type meta struct {
		Stats    map[string]json.Number
		Warnings []string
	}
	requireMeta := func(text string) {
		var m meta
		require.NoError(t, json.Unmarshal([]byte(text), &m), text)
		require.Equal(t, json.Number("1"), m.Stats["rows"])
		require.NotNil(t, m.Warnings)
	}

	body, _ := s.ask(t, "application/json", statement)
	requireMeta(string(body))
	require.Contains(t, string(body), `"2026-11-01T00:00:00.5Z",9007199254740993,0.1,true,"a,\"b\"\nc"`)

	body, _ = s.ask(t, "application/x-ndjson", statement)
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"i":9007199254740993`)
	require.Contains(t, lines[0], `"s":"a,\"b\"\nc"`)
	var last struct {
		Meta json.RawMessage `json:"_meta"`
	}
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &last))
	requireMeta(string(last.Meta))

	body, trailer := s.ask(t, "text/csv", statement)
	requireMeta(trailer)
	records, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"_timestamp", "i", "f", "b", "s", "l", "nothing"}, records[0])
	require.Equal(t, []string{"2026-11-01T00:00:00.5Z", "9007199254740993", "0.1", "true", "a,\"b\"\nc", `[1,"x"]`, ""}, records[1])

	body, trailer = s.ask(t, "application/vnd.apache.arrow.stream", statement)
	requireMeta(trailer)
	r, err := ipc.NewReader(bytes.NewReader(body))
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	require.EqualValues(t, 1, r.RecordBatch().NumRows())
	require.Equal(t, int64(9007199254740993), r.RecordBatch().Column(1).(*array.Int64).Value(0))
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

func TestQueryRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.numbers(t, 10)
	get := func(parameters string) int { return s.Get(t, "/api/v1/query?"+parameters).Status }
	statement := "statement=" + url.QueryEscape("SELECT v FROM s1")
	require.Equal(t, http.StatusOK, get(statement))
	require.Equal(t, http.StatusOK, get(statement+"&format=csv&limit=3&start=now-1h&end=now%2B1h"))
	for _, bad := range []string{
		"", statement + "&nonsense=1", statement + "&limit=-1", statement + "&limit=x", statement + "&start=yesterday", statement + "&format=xml",
		statement + "&start=now&end=now-1h", statement + "&language=cobol",
	} {
		require.Equal(t, http.StatusBadRequest, get(bad), bad)
	}
	res := s.Post(t, "/api/v1/query", `{"statement":"SELECT v FROM s1 ORDER BY v","limit":2}`)
	require.Contains(t, string(res.Body), `"rows":2`)
	require.Equal(t, http.StatusBadRequest, s.Post(t, "/api/v1/query", `{"statement":"SELECT 1","colour":"red"}`).Status)
	require.Equal(t, http.StatusBadRequest, s.Post(t, "/api/v1/query", `{"statement":"SELECT 1"}`, "Accept", "image/png").Status)
	long := `{"statement":"SELECT '` + strings.Repeat("x", 2*mib) + `'"}`
	require.Equal(t, http.StatusRequestEntityTooLarge, s.Post(t, "/api/v1/query", long).Status)

	for statement, want := range map[string]string{
		"SELECT v FROM s2": "s1", "SELECT w FROM s1": `\"v\"`, "SELEC v FROM s1": "line 1, column 1", "SELECT v FROM\n s1 WHERE x =": "line 2",
	} {
		refused := s.refusal(t, statement)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, refused.Status)
		require.Contains(t, string(refused.Body), want, statement)
		var body struct {
			Error     string
			RequestID string `json:"request_id"`
		}
		require.NoError(t, json.Unmarshal(refused.Body, &body))
		require.NotEmpty(t, body.Error)
		require.Equal(t, refused.Header.Get("X-Request-Id"), body.RequestID)
	}
}

func TestScanLimitNamesItself(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_QUERIER_MAX_SCAN_ROWS", "5")
	s.numbers(t, 10)
	refused := s.refusal(t, "SELECT sum(v) FROM s1")
	require.Equal(t, http.StatusBadRequest, refused.Status, "%s", refused.Body)
	require.Contains(t, string(refused.Body), "max_scan_rows")
}

// The org is named in a header: required where a gateway sets it, checked to the letter everywhere.
func TestOrgHeader(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_AUTH_MODE", "header")
	nobody := s.Server.Client("")
	for _, path := range []string{"/api/v1/intake/logs/s1", "/_bulk", "/loki/api/v1/push", "/v1/logs", "/api/v1/query"} {
		res := nobody.Post(t, path, `{}`)
		require.Equal(t, http.StatusUnauthorized, res.Status, path)
		require.Contains(t, string(res.Body), "no org id", path)
	}
	for _, path := range []string{"/api/v1/healthz", "/api/v1/readyz", "/metrics", "/ready"} {
		require.Equal(t, http.StatusOK, nobody.Get(t, path).Status, path)
	}
	for _, org := range []string{"a/b", "..", ".", "a b", strings.Repeat("x", 151), "a|b", "ö"} {
		res := s.Server.Client(org).Post(t, "/api/v1/intake/logs/s1", `{"m":1}`)
		require.Equal(t, http.StatusBadRequest, res.Status, org)
	}
	require.Equal(t, http.StatusOK, s.Server.Client("Tenant-1!*'()_.").Post(t, "/api/v1/intake/logs/s1", `{"m":1}`).Status)
	for _, stream := range []string{"a%20b", "..", "a%2Fb", "%C3%B6"} {
		res := s.Post(t, "/api/v1/intake/logs/"+stream, `{"m":1}`)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, res.Status, stream)
	}
}

func TestPathsMethodsAndEncodings(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.Equal(t, http.StatusNotFound, s.Get(t, "/api/v1/nowhere").Status)
	require.Equal(t, http.StatusNotFound, s.Post(t, "/api/v1/intake/smoke/s1", "{}").Status)
	require.Equal(t, http.StatusMethodNotAllowed, s.Get(t, "/api/v1/intake/logs/s1").Status)
	for _, path := range []string{"/api/v1/intake/logs/s1", "/v1/logs", "/_bulk"} {
		res := s.Post(t, path, "{}", "Content-Encoding", "br")
		require.Equal(t, http.StatusUnsupportedMediaType, res.Status, path)
		require.Contains(t, string(res.Body), "zstd", path)
	}
	res := s.Get(t, "/metrics")
	require.Contains(t, string(res.Body), "millstream_build_info")
	require.Contains(t, string(s.Get(t, "/api/v1/readyz").Body), `"status":"ready"`)

	own, err := s.Do(t.Context(), http.MethodGet, "/api/v1/nowhere", nil, "X-Request-Id", "my-id")
	require.NoError(t, err)
	require.Equal(t, "my-id", own.Header.Get("X-Request-Id"))
	require.Contains(t, string(own.Body), "my-id")

	// The port of OTLP takes OTLP alone.
	otlp := s.Client
	otlp.Base = s.OTLPHTTP
	require.Equal(t, http.StatusNotFound, otlp.Post(t, "/api/v1/query", `{"statement":"SELECT 1"}`).Status)
	require.Equal(t, http.StatusOK, otlp.Post(t, "/v1/logs", `{"resourceLogs":[]}`).Status)
}

// hostile are statements that must not be answered: those of the planner's own tests.
func hostile(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "sqlplan", "sqlplanduck", "testdata", "hostile.sql"))
	require.NoError(t, err)
	var out []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	require.Greater(t, len(out), 100)
	return out
}

// A hundred hostile statements reach neither a file, nor a setting, nor the other org's rows, and leave nothing behind.
func TestHostileStatements(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.Server.Client("t2")
	const secret = "only for the second org"
	require.Equal(t, http.StatusOK, other.Post(t, "/api/v1/intake/logs/private", fmt.Sprintf(`{"m":%q}`, secret)).Status)
	s.accept(t, "nginx", `{"status":200,"message":"mine"}`)
	s.flush(t)
	statements := slices.Concat(hostile(t), []string{
		"SELECT * FROM private", "SELECT * FROM t2.private", "SELECT * FROM t2.logs.private", `SELECT * FROM "t2"."public"."private"`,
		"SELECT * FROM ms_t0", "SELECT * FROM read_parquet('" + s.DataDir + "/objects/t2/**')", "SHOW CREATE TABLE private", "DESCRIBE private",
		"SELECT * FROM nginx UNION ALL SELECT * FROM private", "SELECT (SELECT m FROM private)", "SUMMARIZE private",
	})
	refusals := []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}
	for _, statement := range statements {
		refused := s.refusal(t, statement)
		require.Contains(t, refusals, refused.Status, "%s: %s", statement, refused.Body)
		require.NotContains(t, string(refused.Body), secret, statement)
		require.NotContains(t, string(refused.Body), s.DataDir+"/objects/t2/logs", statement)
	}
	require.True(t, s.Running())
	require.Equal(t, "mine", s.one(t, "SELECT message FROM nginx"))
	require.Equal(t, [][]any{{secret}}, other.Query(t, "SELECT m FROM private"))
	a, err := s.Ask(t.Context(), "SHOW STREAMS")
	require.NoError(t, err)
	require.Len(t, a.Rows, 1)
}
