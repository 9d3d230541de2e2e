package hostile_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/promapi"
)

// kind is what a route asks of its callers.
type kind int

const (
	public   kind = iota + 1 // health: nobody is asked who they are
	reads                    // right read, of one org or more
	readsOne                 // right read, of one org
	writes                   // right write, of one org
	operates                 // an admin of all orgs
	manages                  // an admin of some org, about credentials
	absent                   // 404 to everybody
)

// route is one of the server's routes.
type route struct {
	method, pattern string
	kind            kind
}

// routes returns every route of the API. One that no rule of access covers fails the test.
func routes(t *testing.T) []route {
	t.Helper()
	h := httpapi.New(httpapi.Deps{
		Auth: auth.New(auth.ModeHeader), Metrics: http.NotFoundHandler(), Status: struct{ httpapi.Status }{},
		PromQL: struct{ promapi.Answerer }{}, PromRead: struct{ promapi.Reader }{}, Limits: struct{ httpapi.Limits }{},
	})
	all, ok := h.(chi.Routes)
	require.True(t, ok)
	var out []route
	require.NoError(t, chi.Walk(all, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		k := access(method, pattern)
		if k == 0 {
			t.Errorf("%s %s: say in access who may call this route", method, pattern)
		}
		out = append(out, route{method, pattern, k})
		return nil
	}))
	require.Greater(t, len(out), 80)
	return out
}

// access says what a route asks of its callers.
func access(method, pattern string) kind {
	switch {
	case slices.Contains([]string{
		"/api/v1/healthz", "/api/v1/readyz", "/metrics", "/ready", "/prometheus/-/healthy", "/prometheus/-/ready",
	}, pattern):
		return public
	case strings.HasSuffix(pattern, "/{index}") && method != http.MethodHead && method != http.MethodPut:
		return absent
	case pattern == "/api/v1/query":
		return reads
	case pattern == "/config/tenant/v1/limits", pattern == "/prometheus/api/v1/read", pattern == "/api/v1/read",
		pattern == "/api/v1/prom/read":
		return readsOne
	case strings.HasPrefix(pattern, "/api/v1/tokens"), pattern == "/api/v1/audit":
		return manages
	case strings.HasPrefix(pattern, "/api/v1/cluster/"), strings.HasPrefix(pattern, "/api/v1/node/"), pattern == "/runtime_config":
		return operates
	case strings.HasPrefix(pattern, "/prometheus/api/v1/") && !strings.HasSuffix(pattern, "/write"):
		return reads
	case strings.HasPrefix(pattern, "/api/v1/intake"), strings.HasPrefix(pattern, "/v1/"), strings.HasPrefix(pattern, "/_"),
		strings.HasSuffix(pattern, "/_bulk"), strings.HasSuffix(pattern, "/push"), strings.HasSuffix(pattern, "/write"), pattern == "/",
		strings.HasPrefix(pattern, "/{"):
		return writes
	}
	return 0
}

// names are hostile names of streams, databases, indexes and the like.
func names() []string {
	return []string{
		"..", ".", "../" + beta, beta, beta + "/app", "..%2f" + beta, "%2e%2e", "app", "a'b", `a"b`, "a;b", "$(id)", "ä", "x\x00y",
		strings.Repeat("n", 300), "__tenant_id__", "public", "_all", "*", nameB, "inner", "' OR '1'='1", "{" + beta + "}app",
	}
}

// orgHeaders are values of the org header, by the status that a valid token of alpha gets with them before anything else (0: it may pass).
func orgHeaders() map[string]int {
	return map[string]int{
		"": 0, alpha: 0, "alpha|alpha": 0,
		beta: http.StatusForbidden, "Alpha": http.StatusForbidden, "*": http.StatusForbidden, "alpha|beta": http.StatusForbidden,
		"beta|alpha": http.StatusForbidden, "default": http.StatusForbidden, "fake": http.StatusForbidden,
		"..": http.StatusBadRequest, ".": http.StatusBadRequest, "../beta": http.StatusBadRequest, "alpha/../beta": http.StatusBadRequest,
		"alpha|": http.StatusBadRequest, "|alpha": http.StatusBadRequest, "%2e%2e": http.StatusBadRequest,
		"alpha:org=beta":         http.StatusBadRequest,
		strings.Repeat("a", 300): http.StatusBadRequest, "alpha,beta": http.StatusBadRequest, "alpha beta": http.StatusBadRequest,
		"älpha": http.StatusBadRequest, "alpha|..": http.StatusBadRequest, strings.Repeat("alpha|", 200) + alpha: http.StatusBadRequest,
	}
}

// impostors are credentials that are nobody's.
func (w *world) impostors() map[string]string {
	good, other := w.tokens["alpha"], w.tokens["beta"]
	claims := jwt.MapClaims{"org": beta, "orgs": []string{"*"}, "rights": []string{"admin"}, "exp": time.Now().Add(time.Hour).Unix()}
	forged := func(m jwt.SigningMethod, key any) string {
		text, err := jwt.NewWithClaims(m, claims).SignedString(key)
		require.NoError(w.t, err)
		return "Bearer " + text
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SigningString()
	require.NoError(w.t, err)
	return map[string]string{
		"nobody": "", "empty": "Bearer", "cut": "Bearer " + good[:len(good)-4], "longer": "Bearer " + good + "a",
		"prefix of beta": "Bearer " + other[:17] + good[17:], "secret of beta": "Bearer " + good[:17] + other[17:],
		"no prefix": "Bearer ms__" + good[17:], "random": "Bearer ms_aaaaaaaaaaaaa_" + strings.Repeat("a", 52),
		"user": "Basic " + base64.StdEncoding.EncodeToString([]byte(good+":")), "scheme": "Token " + good, "bare": good,
		"alg none": forged(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), "unsigned": "Bearer " + signed + ".",
		"empty key": forged(jwt.SigningMethodHS256, []byte{}), "cipher key": forged(jwt.SigningMethodHS256, []byte(cipherKey)),
		"token as key": forged(jwt.SigningMethodHS512, []byte(good)), "sql": "Bearer ' OR true --",
		"huge": "Bearer " + strings.Repeat("e", 20_000),
	}
}

// bodies are requests' bodies of many protocols.
func (w *world) bodies() []string {
	prefix := w.tokens["beta"][3:16]
	return []string{
		"", "{}", `{"message":"x"}`, `{"statement":"SELECT * FROM app","org":"beta"}`, `{"statement":"SELECT * FROM app"}`,
		`{"statement":"SHOW STREAMS","database":"../beta"}`, `{"language":"promql","statement":"{__name__=~\".+\",__tenant_id__=\"beta\"}"}`,
		"{\"create\":{\"_index\":\"../beta/app\"}}\n{\"m\":1}\n", "{\"index\":{\"_index\":\"app\",\"_id\":\"../beta\"}}\n{\"m\":1}\n",
		`{"streams":[{"stream":{"__tenant_id__":"beta"},"values":[["1741600800000000000","x"]]}]}`,
		`{"orgs":["beta"],"rights":["read"]}`, `{"orgs":["*"],"rights":["admin"]}`,
		`{"orgs":["alpha","beta"],"rights":["read"],"type":"jwt","expires":"1h"}`,
		`{"grace":"0s"}`, `{"node":"test"}`, `{"prefix":"` + prefix + `"}`, "query=up%7B__tenant_id__%3D%22beta%22%7D", "\x00\xff\xfe",
	}
}

// path fills the parameters of a route with a name.
func (r route) path(name string) string {
	parts := strings.Split(r.pattern, "/")
	for i, p := range parts {
		switch {
		case p == "{signal}":
			parts[i] = "logs"
		case p == "*", strings.HasPrefix(p, "{"):
			parts[i] = url.PathEscape(name)
			if name == "." || name == ".." {
				parts[i] = name
			}
		}
	}
	return strings.Join(parts, "/")
}

// attack sends requests to a route and returns how many.
func (w *world) attack(r route) (sent int) {
	rnd := rand.New(rand.NewPCG(1, uint64(len(r.method+r.pattern))))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	bodies, all := w.bodies(), names()
	one := func(what, credential, org, name, body string, pairs ...string) int {
		sent++
		if credential != "" {
			pairs = append(pairs, "Authorization", credential)
		}
		path := r.path(name)
		what = fmt.Sprintf("%s %s as %s for %.40q with %.60q", r.method, path, what, org, body)
		res, err := w.server.Client(org).Do(w.t.Context(), r.method, path, []byte(body), pairs...)
		require.NoError(w.t, err, what)
		w.look(what, path+strings.Join(pairs, " ")+body, res)
		return res.Status
	}
	token := "Bearer " + w.tokens["alpha"]
	if r.kind == absent {
		if status := one("nobody", "", "", "app", ""); status != http.StatusNotFound {
			w.t.Errorf("%s %s is answered with %d", r.method, r.pattern, status)
		}
		return sent
	}
	for what, credential := range w.impostors() {
		for _, org := range []string{alpha, beta, "../beta"} {
			status := one(what, credential, org, "app", pick(bodies), "Content-Type", "application/json")
			if r.kind != public && status != http.StatusUnauthorized {
				w.t.Errorf("%s %s: %s for %s is answered with %d", r.method, r.pattern, what, org, status)
			}
		}
	}
	for org, want := range orgHeaders() {
		status := one("alpha", token, org, "app", pick(bodies), "Content-Type", "application/json")
		if r.kind == manages || r.kind == operates { // no org is named there
			want = http.StatusForbidden
		}
		if r.kind != public && want != 0 && status != want {
			w.t.Errorf("%s %s: alpha for %.40q is answered with %d, not %d", r.method, r.pattern, org, status, want)
		}
	}
	lacking := map[kind]string{
		reads: "alpha writes", readsOne: "alpha writes", writes: "alpha reads", operates: "alpha admin", manages: "alpha",
	}
	if name, ok := lacking[r.kind]; ok {
		if status := one(name, "Bearer "+w.tokens[name], "", "app", "{}", "Content-Type", "application/json"); status != http.StatusForbidden {
			w.t.Errorf("%s %s: a token that lacks the right is answered with %d", r.method, r.pattern, status)
		}
	}
	for _, name := range all {
		if r.path(name) != r.pattern || r.kind == writes || r.kind == reads {
			one("alpha", token, "", name, pick(bodies), "X-Millstream-Database", header(pick(all)), "X-Millstream-Stream", header(pick(all)))
		}
	}
	for range 12 {
		who := pick([]string{"alpha", "alpha admin", "alpha reads", "alpha writes"})
		one(who, "Bearer "+w.tokens[who], pick([]string{"", alpha, "alpha|alpha"}), pick(all), pick(bodies),
			"Content-Type", pick([]string{"application/json", "application/x-protobuf", "application/x-www-form-urlencoded", "text/plain"}),
			"X-Millstream-Database", header(pick(all)), "X-Forwarded-For", "127.0.0.1", "X-Original-URL", "/api/v1/tokens")
	}
	return sent
}

// header makes a name that can be sent in a header.
func header(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, name)
}
