package promapi

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// maxFormBytes bounds the form of a request.
const maxFormBytes = 4 << 20

// Edge is what the handler needs of the server that it is mounted in.
type Edge struct {
	// Who authenticates a request that reads.
	Who func(*http.Request) (auth.Principal, error)
	// Database returns the database that a request names, which its parameters may overrule; nil or empty = the default one.
	Database func(*http.Request) string
	// Ready returns nil when the node takes traffic.
	Ready func() error
	// Failed is told of every answer that is an error; nil = nobody is.
	Failed func(ctx context.Context, err error)
}

func (e Edge) withDefaults() Edge {
	if e.Failed == nil {
		e.Failed = func(context.Context, error) {}
	}
	return e
}

// database returns the database that a request with these parameters is about.
func (e *Edge) database(r *http.Request, form url.Values) (string, error) {
	name := form.Get("database")
	if name == "" && e.Database != nil {
		name = e.Database(r)
	}
	if name == "" {
		name = signal.DefaultDatabase
	}
	return name, signal.CheckName("database", name)
}

// Handler serves the API below the path that it is mounted at: api/v1/… and -/….
func Handler(edge Edge, answerer Answerer) http.Handler {
	h := &handler{edge: edge.withDefaults(), answerer: answerer}
	r := chi.NewRouter()
	for path, methods := range Paths() {
		for _, m := range methods {
			r.Method(m, "/api/v1/"+path, http.HandlerFunc(h.serve))
		}
	}
	r.Get("/-/healthy", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("Millstream is Healthy.\n")) })
	r.Get("/-/ready", h.ready)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { h.write(w, r, failure(errNoPath(r.URL.Path))) })
	r.MethodNotAllowed(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
	return r
}

type handler struct {
	edge     Edge
	answerer Answerer
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	q, err := h.question(w, r)
	if err != nil {
		h.write(w, r, failure(err))
		return
	}
	h.write(w, r, h.answerer.Answer(r.Context(), q))
}

// question reads a request.
func (h *handler) question(w http.ResponseWriter, r *http.Request) (q Question, err error) {
	p, err := h.edge.Who(r)
	if err != nil {
		return q, err
	}
	q.Org, q.Actor, q.ActorPath = p.Org(), p.Actor, answer.ParseActorPath(r.Header)
	if len(p.Orgs) > 1 {
		q.Orgs = p.Orgs
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		return q, &apiError{kind: badData, err: fault.Wrap(fault.Invalid, err, "error parsing form values: %s", err)}
	}
	q.Form = r.Form
	if q.Database, err = h.edge.database(r, q.Form); err != nil {
		return q, err
	}
	_, path, _ := strings.Cut(r.URL.EscapedPath(), "/api/v1/")
	q.Path, err = url.PathUnescape(path)
	if err != nil {
		return q, errNoPath(r.URL.Path)
	}
	return q, nil
}

func (h *handler) ready(w http.ResponseWriter, r *http.Request) {
	if err := h.edge.Ready(); err != nil {
		h.edge.Failed(r.Context(), err)
		http.Error(w, fault.Message(err), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("Millstream is Ready.\n"))
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, a Answer) {
	if a.Err != nil {
		h.edge.Failed(r.Context(), a.Err)
	}
	if a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests {
		wait := max(fault.RetryAfter(a.Err), time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if len(a.Body) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client may have left
}
