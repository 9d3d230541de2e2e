package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
)

// RequestIDHeader carries the id of a request, the client's own when it sends a usable one.
const RequestIDHeader = "X-Request-Id"

type contextKey struct{}

// exchange is what the layers of one request tell each other.
type exchange struct {
	id      string
	started time.Time
	header  http.Header  // of the answer
	org     atomic.Value // string
	err     atomic.Value // error
}

func exchangeOf(ctx context.Context) *exchange {
	if e, ok := ctx.Value(contextKey{}).(*exchange); ok {
		return e
	}
	return &exchange{started: time.Now()}
}

func requestID(ctx context.Context) string { return exchangeOf(ctx).id }

func noteError(ctx context.Context, err error) { exchangeOf(ctx).err.Store(errorBox{err}) }

func noteOrg(ctx context.Context, org string) { exchangeOf(ctx).org.Store(org) }

// errorBox gives atomic.Value one concrete type.
type errorBox struct{ error }

// observer logs and counts every request.
type observer struct {
	logger    *slog.Logger
	challenge string
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	inFlight  prometheus.Gauge
}

// newObserver returns an observer whose 401s carry the challenge, none when it is empty.
func newObserver(logger *slog.Logger, challenge string, reg prometheus.Registerer) *observer {
	o := &observer{
		logger: logger, challenge: challenge,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_http_requests_total", Help: "HTTP requests by route and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millstream_http_request_seconds", Help: "Duration of HTTP requests by route.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_http_requests_in_flight", Help: "HTTP requests being answered.",
		}),
	}
	if reg != nil {
		reg.MustRegister(o.requests, o.seconds, o.inFlight)
	}
	return o
}

// wrap gives each request an id, catches panics, and logs and counts the status that was written.
func (o *observer) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{id: r.Header.Get(RequestIDHeader), started: time.Now(), header: w.Header()}
		if !usableID(e.id) {
			e.id = ulid.Make().String()
		}
		w.Header().Set(RequestIDHeader, e.id)
		r = r.WithContext(context.WithValue(r.Context(), contextKey{}, e))
		rec := &recorder{ResponseWriter: w, challenge: o.challenge}
		o.inFlight.Inc()
		defer func() {
			o.inFlight.Dec()
			p := recover()
			if p != nil {
				o.panicked(rec, r, p)
			}
			o.done(rec, r, e, time.Since(e.started))
			if p == http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared by identity in net/http
				panic(p) // which breaks the connection: the answer must not look whole
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

func (o *observer) panicked(rec *recorder, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared by identity in net/http
		rec.status = fault.StatusClientClosed
		return
	}
	o.logger.Error("request handler panicked", "request_id", requestID(r.Context()), "panic", p, "stack", string(debug.Stack()))
	if rec.status == 0 {
		writeError(rec, r, fault.New(fault.Internal, "panic"))
	}
}

func (o *observer) done(rec *recorder, r *http.Request, e *exchange, took time.Duration) {
	route := chi.RouteContext(r.Context()).RoutePattern()
	if route == "" {
		route = "unknown"
	}
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	o.requests.WithLabelValues(route, r.Method, strconv.Itoa(rec.status)).Inc()
	o.seconds.WithLabelValues(route).Observe(took.Seconds())
	attrs := []any{
		"method", r.Method, "route", route, "status", rec.status, "bytes", rec.bytes, "took", took, "request_id", e.id, "org", e.org.Load(),
	}
	level := slog.LevelDebug
	if box, ok := e.err.Load().(errorBox); ok {
		attrs = append(attrs, "error", box.error)
		level = slog.LevelInfo
		if rec.status == http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	o.logger.Log(r.Context(), level, "request", attrs...)
}

// usableID reports whether a client's request id may stand in logs and headers.
func usableID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// recorder notes the status and size of an answer.
type recorder struct {
	http.ResponseWriter
	challenge string
	status    int
	bytes     int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	if status == http.StatusUnauthorized && w.challenge != "" {
		w.Header().Set("WWW-Authenticate", w.challenge)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
