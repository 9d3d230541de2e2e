package httpapi_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/quota"
)

// unread is a body that nobody may look at.
type unread struct{ t *testing.T }

// Read implements io.Reader.
func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read before the caller was known")
	return 0, io.EOF
}

// TestWhoComesFirst sends requests that are wrong in every other way too, without an org: each is told only that it names none, and
// nothing of its body is read.
func TestWhoComesFirst(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_741_600_800, 0))
	rate := func(class string) *quota.Requests {
		return quota.NewRequests(c, class, quota.RequestRate{PerSecond: 2, Burst: 4})
	}
	h := httpapi.New(httpapi.Deps{
		Auth: auth.New(auth.ModeHeader), Front: ingress.NewFront(discard{}, ingress.Limits{}, c, nil), Querier: mute{}, PromQL: mute{},
		Status: ready{}, Requests: httpapi.RequestRates{Intake: rate("intake"), Query: rate("query")},
		Metrics: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler),
	})
	for _, path := range []string{
		"/v1/logs", "/v1/metrics", "/v1/traces", "/api/v1/intake/otlp/v1/logs", "/api/v1/intake/nosignal/s", "/api/v1/intake/logs/s",
		"/loki/api/v1/push", "/api/v1/write", "/_bulk", "/i/_bulk", "/api/v1/query?nosuch=1", "/prometheus/api/v1/query?nosuch=1",
	} {
		for _, contentType := range []string{"image/png", "application/json", "application/x-protobuf", "", "a/b; c"} {
			r := httptest.NewRequest(http.MethodPost, path, unread{t})
			r.Header.Set("Content-Type", contentType)
			r.Header.Set("Content-Encoding", "nosuch")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, http.StatusUnauthorized, w.Code, "%s %q", path, contentType)
			require.Contains(t, w.Body.String(), "no org id", path)
		}
	}
	w := ask(h, "/v1/logs", "a", "image/png", "")
	require.Equal(t, http.StatusUnsupportedMediaType, w.Code, "who is known is told what is wrong")
	require.True(t, strings.HasPrefix(w.Header().Get("Content-Type"), "application/json"))
}
