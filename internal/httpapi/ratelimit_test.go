package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/quota"
)

// mute answers no question.
type mute struct{}

func (mute) Ask(context.Context, answer.Question) (answer.Result, error) {
	return nil, fault.New(fault.NotFound, "nothing is here")
}

func (mute) Answer(context.Context, promapi.Question) promapi.Answer {
	return promapi.Failure(fault.New(fault.NotFound, "nothing is here"))
}

type ready struct{}

func (ready) Ready() error           { return nil }
func (ready) Report() map[string]any { return nil }

// ask sends one request of an org, a GET when there is no content type.
func ask(h http.Handler, path, org, contentType, body string) *httptest.ResponseRecorder {
	method := http.MethodPost
	if contentType == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Scope-OrgID", org)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestRequestRateHoldsUnderEveryAlias uses up each class by one alias and finds every other alias of it refused in its own dress, the other
// class and other orgs not.
func TestRequestRateHoldsUnderEveryAlias(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_741_600_800, 0))
	rate := func(class string) *quota.Requests {
		return quota.NewRequests(c, class, quota.RequestRate{PerSecond: 2, Burst: 4})
	}
	h := httpapi.New(httpapi.Deps{
		Auth: auth.New(auth.ModeOpen), Front: ingress.NewFront(discard{}, ingress.Limits{}, c, nil), Querier: mute{}, PromQL: mute{},
		Status: ready{}, Requests: httpapi.RequestRates{Intake: rate("intake"), Query: rate("query")},
		Metrics: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler),
	})
	const js, pb = "application/json", "application/x-protobuf"
	left := []string{"3", "2", "1", "0"}
	for i := range 4 {
		w := ask(h, "/api/v1/intake/logs/s", "a", js, `{"n":1}`)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, `"intake";q=4;w=2`, w.Header().Get("RateLimit-Policy"))
		require.Equal(t, `"intake";r=`+left[i]+`;t=1`, w.Header().Get("RateLimit"))
		require.Equal(t, http.StatusNotFound, ask(h, "/api/v1/query?statement=SELECT+1", "a", "", "").Code)
	}
	refused := func(path, contentType, dress string) {
		t.Helper()
		w := ask(h, path, "a", contentType, `{}`)
		require.Equal(t, http.StatusTooManyRequests, w.Code, path)
		require.Equal(t, "1", w.Header().Get("Retry-After"), "%s: half a second is rounded up", path)
		require.Contains(t, w.Header().Get("RateLimit"), `;r=0;t=1`, path)
		require.Contains(t, w.Body.String(), "request rate limit exceeded for org a: 2 ", path)
		require.Contains(t, w.Body.String(), dress, path)
		require.NotEqual(t, http.StatusTooManyRequests, ask(h, path, "b"+strconv.Itoa(len(path)), contentType, `{}`).Code, path)
	}
	for path, dress := range map[string]string{
		"/api/v1/intake/metrics/s": `"error":"limited"`, "/api/v1/intake/traces/s": `"error":"limited"`,
		"/v1/logs": `"code":8`, "/api/v1/intake/otlp/v1/logs": `"retryDelay":"1s"`,
		"/loki/api/v1/push": "retry in 500ms\n", "/api/prom/push": "retry in 500ms\n", "/api/v1/intake/loki/api/v1/push": "retry in 500ms\n",
	} {
		refused(path, js, dress)
	}
	h2 := func(path string) {
		t.Helper()
		w := ask(h, path, "a", pb, "")
		require.Equal(t, http.StatusTooManyRequests, w.Code, path)
	}
	for _, path := range []string{
		"/v1/metrics", "/v1/traces", "/api/v1/intake/otlp/v1/metrics", "/api/v1/intake/otlp/v1/traces",
		"/api/v1/write", "/api/v1/prom/push", "/prometheus/api/v1/write", "/api/v1/intake/prometheus/api/v1/write",
		"/_bulk", "/i/_bulk", "/api/v1/intake/_bulk", "/api/v1/intake/i/_bulk",
	} {
		h2(path)
	}
	require.Equal(t, http.StatusTooManyRequests, ask(h, "/_license", "a", "", "").Code, "what agents ask before they write")
	for _, path := range []string{
		"/api/v1/query?statement=SELECT+1", "/prometheus/api/v1/query?query=up", "/prometheus/api/v1/labels", "/prometheus/api/v1/series",
	} {
		w := ask(h, path, "a", "", "")
		require.Equal(t, http.StatusTooManyRequests, w.Code, path)
		require.NotEmpty(t, w.Header().Get("Retry-After"), path)
	}
	require.Equal(t, http.StatusOK, ask(h, "/api/v1/healthz", "a", "", "").Code)

	c.Advance(499 * time.Millisecond)
	require.Equal(t, http.StatusTooManyRequests, ask(h, "/_bulk", "a", js, "").Code)
	c.Advance(time.Millisecond)
	require.Equal(t, http.StatusOK, ask(h, "/api/v1/intake/logs/s", "a", js, `{"n":1}`).Code)
}
