package hostile_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The orgs: alpha attacks, beta is attacked.
const (
	alpha = "alpha"
	beta  = "beta"
)

// Words that stand in the data of one org alone.
const (
	markerA = "zanzibar7alpha"
	markerB = "quicksilver9beta"
)

// Names of a stream and of a database that one org alone has. Who asks for such a name may be told it again, and nobody else.
const (
	nameA = "violet5alpha"
	nameB = "indigo5beta"
)

const cipherKey = "the cipher key of the hostile suite"

// world is a server with the two orgs.
type world struct {
	t       *testing.T
	server  *mstest.Server
	root    string // token of an admin of all orgs
	tokens  map[string]string
	secrets []string // what no answer to alpha may hold
	files   []string // beta's objects
}

// newWorld starts a server and gives both orgs data of every kind, flushed and fresh.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, tokens: map[string]string{}}
	w.server = mstest.Start(t, mstest.Config{Env: map[string]string{
		"MS_AUTH_MODE": "token", "MS_CIPHER_KEY": cipherKey, "MS_INTAKE_FLUSH_INTERVAL_SECS": "3600",
	}})
	found := regexp.MustCompile(`first admin token: (ms_\S+)`).FindStringSubmatch(w.server.Logs())
	require.NotNil(t, found, "the first start prints a token")
	w.root = found[1]
	for name, spec := range map[string]string{
		"alpha":        `{"orgs":["alpha"],"rights":["read","write"]}`,
		"alpha reads":  `{"orgs":["alpha"],"rights":["read"]}`,
		"alpha writes": `{"orgs":["alpha"],"rights":["write"]}`,
		"alpha admin":  `{"orgs":["alpha"],"rights":["admin"]}`,
		"beta":         `{"orgs":["beta"],"rights":["read","write"],"name":"` + markerB + `"}`,
		"beta admin":   `{"orgs":["beta"],"rights":["admin"],"name":"` + markerB + `"}`,
		"both":         `{"orgs":["alpha","beta"],"rights":["read","write"]}`,
	} {
		w.tokens[name] = w.makeToken(spec)
	}
	w.seed(alpha, markerA, nameA)
	w.seed(beta, markerB, nameB)
	require.NoError(t, w.server.Restart(t.Context()))
	w.write(beta, "app", markerB)
	w.secrets = []string{markerB, cipherKey, w.root, w.tokens["beta"], w.tokens["beta admin"]}
	require.NoError(t, filepath.WalkDir(filepath.Join(w.server.DataDir, "objects", beta), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			w.files = append(w.files, path)
		}
		return err
	}))
	require.NotEmpty(t, w.files)
	return w
}

func (w *world) makeToken(spec string) string {
	w.t.Helper()
	res := w.send(caller{w.root, ""}, http.MethodPost, "/api/v1/tokens", spec)
	require.Equal(w.t, http.StatusCreated, res.Status, "%s", res.Body)
	var made struct{ Token string }
	require.NoError(w.t, json.Unmarshal(res.Body, &made))
	return made.Token
}

// caller is who sends a request: a token and an org header, both left out when empty.
type caller struct{ token, org string }

// send sends a request.
func (w *world) send(as caller, method, path, body string, pairs ...string) mstest.Response {
	w.t.Helper()
	if as.token != "" {
		pairs = append(pairs, "Authorization", "Bearer "+as.token)
	}
	res, err := w.server.Client(as.org).Do(w.t.Context(), method, path, []byte(body), pairs...)
	require.NoError(w.t, err)
	return res
}

// seed writes rows of every signal, a database and a setting.
func (w *world) seed(org, marker, name string) {
	w.t.Helper()
	w.write(org, "app", marker)
	w.write(org, name, marker)
	w.sql(org, "CREATE DATABASE IF NOT EXISTS "+name)
	post := func(path, body string) {
		w.t.Helper()
		res := w.send(caller{w.root, org}, http.MethodPost, path, body, "Content-Type", "application/json")
		require.Less(w.t, res.Status, 300, "%s: %s", path, res.Body)
	}
	post("/api/v1/intake/logs/inner?database="+name, `{"message":"`+marker+`"}`)
	post("/api/v1/intake/metrics/up", `{"value":1,"job":"`+marker+`"}`)
	post("/api/v1/intake/traces/spans", `{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","name":"`+marker+
		`","start":"2026-01-01T00:00:00Z","duration":"1s"}`)
}

func (w *world) write(org, stream, marker string) {
	w.t.Helper()
	body := `{"message":"` + marker + `","` + marker + `":1}`
	res := w.send(caller{w.root, org}, http.MethodPost, "/api/v1/intake/logs/"+stream, body)
	require.Equal(w.t, http.StatusOK, res.Status, "%s", res.Body)
}

func (w *world) sql(org, statement string) string {
	w.t.Helper()
	body, err := json.Marshal(map[string]string{"statement": statement})
	require.NoError(w.t, err)
	res := w.send(caller{w.root, org}, http.MethodPost, "/api/v1/query", string(body))
	require.Equal(w.t, http.StatusOK, res.Status, "%s: %s", statement, res.Body)
	var out struct{ Columns, Rows json.RawMessage }
	require.NoError(w.t, json.Unmarshal(res.Body, &out))
	return string(out.Columns) + string(out.Rows)
}

// state is all of an org that can be seen from outside.
func (w *world) state(org, name string) []string {
	w.t.Helper()
	var out []string
	for _, s := range []string{
		"SHOW FULL DATABASES", "SHOW STREAMS", "SHOW STREAMS FROM " + name, "DESCRIBE app", "DESCRIBE " + name + ".logs.inner",
		"SELECT * FROM logs.app ORDER BY ALL", "SELECT * FROM " + name + ".logs.inner ORDER BY ALL", "SELECT * FROM metrics.up ORDER BY ALL",
		"SELECT * FROM traces.spans ORDER BY ALL", `SELECT * FROM logs."` + name + `" ORDER BY ALL`, "SHOW CREATE DATABASE " + name,
	} {
		out = append(out, s+": "+w.sql(org, s))
	}
	for _, path := range []string{"/config/tenant/v1/limits", "/prometheus/api/v1/series?match[]=up", "/prometheus/api/v1/labels"} {
		res := w.send(caller{w.root, org}, http.MethodGet, path, "")
		require.Equal(w.t, http.StatusOK, res.Status, "%s: %s", path, res.Body)
		out = append(out, path+": "+withoutUsage(res.Body))
	}
	res := w.send(caller{w.tokens[org+" admin"], ""}, http.MethodGet, "/api/v1/tokens", "")
	require.Equal(w.t, http.StatusOK, res.Status, "%s", res.Body)
	return append(out, regexp.MustCompile(`,?"used_at":"[^"]*"`).ReplaceAllString(string(res.Body), ""))
}

// withoutUsage takes out of an answer about limits what changes by asking.
func withoutUsage(body []byte) string {
	return regexp.MustCompile(`,?"usage":(\{[^}]*\}|[^,}]*)`).ReplaceAllString(string(body), "")
}

// look fails when an answer to alpha tells something of beta that was not in the request, or that the server has a defect.
func (w *world) look(what, request string, res mstest.Response) {
	w.t.Helper()
	var text strings.Builder
	text.Write(res.Body)
	require.NoError(w.t, res.Header.Write(&text))
	secrets := w.secrets
	if !strings.Contains(request, nameB) {
		secrets = append(slices.Clip(secrets), nameB)
	}
	for _, secret := range secrets {
		if strings.Contains(text.String(), secret) {
			w.t.Errorf("%s: the answer (%d) holds %q", what, res.Status, secret)
		}
	}
	if res.Status == http.StatusInternalServerError {
		w.t.Errorf("%s: %d %s", what, res.Status, res.Body)
	}
}

// TestNoRequestCrosses is the differential check, over routes, credentials, headers, names, statements and bodies.
func TestNoRequestCrosses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state(beta, nameB)
	require.Contains(t, strings.Join(before, "\n"), markerB)
	sent := 0
	for _, r := range routes(t) {
		sent += w.attack(r)
	}
	t.Logf("%d requests", sent)
	require.Greater(t, sent, 5000)
	require.Equal(t, before, w.state(beta, nameB), "beta is as it was")
	require.NotContains(t, strings.Join(w.state(alpha, nameA), "\n"), markerB)
	require.True(t, w.server.Running())
}

// TestStatementsStayInTheirOrg sends SQL and PromQL that try to leave the org.
func TestStatementsStayInTheirOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state(beta, nameB)
	for _, token := range []string{"alpha", "alpha reads", "alpha admin"} {
		for _, s := range w.statements() {
			for _, database := range []string{"", "public", nameB, "../" + beta, beta} {
				body, err := json.Marshal(map[string]string{"statement": s, "database": database})
				require.NoError(t, err)
				w.look(token+": "+s, string(body), w.send(caller{w.tokens[token], ""}, http.MethodPost, "/api/v1/query", string(body)))
			}
		}
	}
	require.Equal(t, before, w.state(beta, nameB), "beta is as it was")
}

// TestSeveralOrgsOverTheAPI reads two granted orgs as one: SQL, PromQL, label endpoints.
func TestSeveralOrgsOverTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	both := w.tokens["both"]
	get := func(path string) string {
		t.Helper()
		res := w.send(caller{both, "beta|alpha"}, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, res.Status, "%s: %s", path, res.Body)
		return string(res.Body)
	}
	sql := get("/api/v1/query?statement=SELECT+DISTINCT+__tenant_id__,message+FROM+logs.app+ORDER+BY+1")
	require.Contains(t, sql, fmt.Sprintf(`["alpha",%q]`, markerA))
	require.Contains(t, sql, fmt.Sprintf(`["beta",%q]`, markerB))
	series := get("/prometheus/api/v1/series?match[]=up")
	require.Contains(t, series, `"__tenant_id__":"alpha"`)
	require.Contains(t, series, `"__tenant_id__":"beta"`)
	require.Contains(t, get("/prometheus/api/v1/labels"), `"__tenant_id__"`)
	require.Contains(t, get("/prometheus/api/v1/label/__tenant_id__/values"), `["alpha","beta"]`)
	require.Contains(t, get("/prometheus/api/v1/label/job/values"), fmt.Sprintf(`[%q,%q]`, markerB, markerA))
	one := get(`/prometheus/api/v1/query?query=count+by(__tenant_id__)(up{__tenant_id__!="beta"})`)
	require.Contains(t, one, `"__tenant_id__":"alpha"`)
	require.NotContains(t, one, "beta")
	require.Contains(t, get(`/prometheus/api/v1/query?query=sum(count_over_time(up[1h]))`), `"2"`)
	alone := w.send(caller{both, alpha}, http.MethodGet, "/prometheus/api/v1/series?match[]=up", "")
	require.NotContains(t, string(alone.Body), "__tenant_id__")

	audit := w.send(caller{w.root, ""}, http.MethodGet, "/api/v1/audit", "")
	require.Contains(t, string(audit.Body), `"actor":"token `+w.root[3:16]+`","action":"database.create","org":"beta","object":"`+nameB+`"`)

	for _, c := range []struct{ method, path, org string }{
		{http.MethodPost, "/api/v1/intake/logs/app", "alpha|beta"},
		{http.MethodPost, "/loki/api/v1/push", "alpha|beta"},
		{http.MethodPost, "/_bulk", "alpha|beta"},
		{http.MethodGet, "/api/v1/query?statement=SHOW+STREAMS", "alpha|beta"},
		{http.MethodGet, "/api/v1/query?statement=CREATE+DATABASE+x", "alpha|beta"},
		{http.MethodGet, "/config/tenant/v1/limits", "alpha|beta"},
		{http.MethodGet, "/api/v1/query?statement=SELECT+1", "alpha||beta"},
		{http.MethodGet, "/api/v1/query?statement=SELECT+1", "alpha|"},
	} {
		res := w.send(caller{both, c.org}, c.method, c.path, "{}")
		require.Equal(t, http.StatusBadRequest, res.Status, "%s %s: %s", c.path, c.org, res.Body)
	}
	for _, org := range []string{"alpha|gamma", "gamma", "alpha|beta|gamma"} {
		res := w.send(caller{both, org}, http.MethodGet, "/api/v1/query?statement=SELECT+1", "")
		require.Equal(t, http.StatusForbidden, res.Status, org)
		require.NotContains(t, string(res.Body), "gamma", "a refusal names no org")
	}
}
