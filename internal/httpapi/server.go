package httpapi

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/promapi"
)

// Status tells how the node is.
type Status interface {
	// Ready returns nil when the node takes traffic, else why it does not.
	Ready() error
	// Report returns what readyz shows beside the status: progress, warnings.
	Report() map[string]any
}

// Deps are the collaborators of the edge.
type Deps struct {
	Auth       *auth.Authenticator
	Tokens     *auth.Registry
	Audit      *auth.Audit
	Front      *ingress.Front
	Querier    answer.Answerer
	PromQL     promapi.Answerer // nil: there is no Prometheus API
	PromRead   promapi.Reader   // nil: there is no remote read
	Status     Status
	Cluster    Cluster
	Limits     Limits       // nil: nothing is told about limits
	Requests   RequestRates // of orgs
	Metrics    http.Handler
	Version    string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

type api struct {
	Deps
}

// New returns the handler of a node with the full API.
func New(d Deps) http.Handler {
	a := &api{d}
	r := chi.NewRouter()
	r.Use(newObserver(d.Logger, d.Auth.Challenge(), d.Registerer).wrap)
	a.operate(r)
	a.intake(r)
	a.query(r)
	a.prometheus(r)
	a.cluster(r)
	a.limits(r)
	a.tokens(r)
	r.NotFound(noSuchPath)
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusMethodNotAllowed, errorBody{Problem: answer.Problem{
			Code: "method_not_allowed", Message: r.Method + " is not allowed here", RequestID: requestID(r.Context()),
		}})
	})
	return r
}

func noSuchPath(w http.ResponseWriter, r *http.Request) {
	writeError(w, r, fault.New(fault.NotFound, "no such path: %s", r.URL.Path))
}

// NewInternal returns the handler of a node without the API: three paths and nothing else.
func NewInternal(d Deps) http.Handler {
	a := &api{d}
	r := chi.NewRouter()
	r.Use(newObserver(d.Logger, d.Auth.Challenge(), d.Registerer).wrap)
	a.operate(r)
	return r
}

// NewOTLP returns the handler of the OTLP/HTTP port, which takes the write paths of OTLP alone.
func NewOTLP(d Deps) http.Handler {
	a := &api{d}
	r := chi.NewRouter()
	r.Use(newObserver(d.Logger, d.Auth.Challenge(), nil).wrap)
	a.otlp(r)
	return r
}

func (a *api) intake(r chi.Router) {
	r.Post("/api/v1/intake/{signal}/{stream}", a.json)
	a.otlp(r)
	a.loki(r)
	a.prometheusWrite(r)
	a.elastic(r)
}

// who authenticates a request that needs a right.
func (a *api) who(r *http.Request, need auth.Right) (auth.Principal, error) {
	p, err := a.Auth.HTTP(r, need)
	if err == nil {
		noteOrg(r.Context(), strings.Join(auth.Grant{Orgs: p.Orgs}.Names(), "|"))
	}
	return p, err
}

// writer authenticates a request that writes, or that an agent sends before it writes, and counts it.
func (a *api) writer(r *http.Request) (auth.Principal, error) {
	p, err := a.who(r, auth.Write)
	if err != nil {
		return p, err
	}
	return p, a.count(r, p, a.Requests.Intake)
}

// Headers that choose where rows go.
const (
	databaseHeader    = "X-Millstream-Database"
	streamHeader      = "X-Millstream-Stream"
	streamHeaderAlias = "Stream-Name"
)

// target reads org, database and stream of a write request; the stream is empty when the header is.
func (a *api) target(r *http.Request) (ingress.Target, error) {
	p, err := a.writer(r)
	if err != nil {
		return ingress.Target{}, err
	}
	t := ingress.Target{Org: p.Org(), Database: r.URL.Query().Get("database"), Stream: r.Header.Get(streamHeader)}
	if t.Database == "" {
		t.Database = r.Header.Get(databaseHeader)
	}
	if t.Stream == "" {
		t.Stream = r.Header.Get(streamHeaderAlias)
	}
	return t, nil
}
