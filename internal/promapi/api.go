package promapi

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/promeval"
	"github.com/millstream/millstream/internal/tenant"
)

// Question is one call of the API.
type Question struct {
	Org   tenant.ID   // the one that is asked, the first of Orgs
	Orgs  []tenant.ID // when several are asked: all of them, sorted; else empty
	Actor string      // who asks; empty = nobody is known
	// ActorPath says below Actor who asks, the outermost level first, as the client has it (X-Loki-Actor-Path).
	ActorPath []string
	Database  string     // never empty
	Path      string     // below /api/v1, without a leading slash: "query", "label/job/values"
	Form      url.Values // parameters of the URL and the form together
}

// Members returns every org that is asked. The caller must not change the list.
func (q *Question) Members() []tenant.ID {
	if len(q.Orgs) > 0 {
		return q.Orgs
	}
	return []tenant.ID{q.Org}
}

// Answer is what a client gets.
type Answer struct {
	Status int
	Body   []byte // JSON; empty for 204
	Err    error  // for the log, nil when Status is 2xx
}

// Answerer answers questions: an API of this process, or a client of one.
type Answerer interface {
	Answer(ctx context.Context, q Question) Answer
}

// Metrics is what the API needs of the store.
type Metrics interface {
	// Queryable returns the metrics of a database; one that does not exist has none.
	Queryable(org tenant.ID, database string) storage.Queryable
	// Exemplars returns what reads the exemplars of a database while ctx lasts.
	Exemplars(ctx context.Context, org tenant.ID, database string) storage.ExemplarQuerier
	// Metadata returns what senders said of metrics lately, of one metric or, when metric is empty, of all.
	Metadata(ctx context.Context, org tenant.ID, database, metric string) (map[string][]metadata.Metadata, error)
}

// Options bound one query.
type Options struct {
	Timeout    time.Duration // of a query; default 2 min. The org's own may be shorter
	MaxSamples int           // samples that the engine holds at once; default 50,000,000
	Lookback   time.Duration // how long a sample counts for an instant; default 5 min
	Version    string        // of this program
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.MaxSamples <= 0 {
		o.MaxSamples = 50_000_000
	}
	if o.Lookback <= 0 {
		o.Lookback = 5 * time.Minute
	}
	return o
}

// Deps are the collaborators.
type Deps struct {
	Metrics Metrics
	// Acquire waits for a place among the queries that run at once; nil = no bound. The place is given back by release, once.
	Acquire func(ctx context.Context, org tenant.ID) (release func(), err error)
	// Limits returns the limits of an org; it is asked once a question. Nil: limits.Default.
	Limits func(org tenant.ID) limits.Limits
	Clock  clock.Clock  // nil: the system's
	Logger *slog.Logger // nil: discard
}

// API answers questions over the metrics of this node. It is safe for concurrent use.
type API struct {
	opts   Options
	deps   Deps
	plain  promql.QueryEngine // Prometheus' own
	engine promql.QueryEngine // evaluates parts of range queries beside it
	parser parser.Parser
}

// New returns an API. It starts nothing and needs no closing.
func New(opts Options, deps Deps) *API {
	opts = opts.withDefaults()
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Limits == nil {
		deps.Limits = limits.Static(limits.Default())
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Acquire == nil {
		deps.Acquire = func(context.Context, tenant.ID) (func(), error) { return func() {}, nil }
	}
	p := newParser()
	plain := promql.NewEngine(promql.EngineOpts{
		Logger: deps.Logger, MaxSamples: opts.MaxSamples, Timeout: opts.Timeout, LookbackDelta: opts.Lookback, Parser: p,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }, // Prometheus' default evaluation interval
		EnableAtModifier:         true, EnableNegativeOffset: true, EnablePerStepStats: true,
	})
	engine := promeval.New(plain, promeval.Options{Parser: p, Timeout: opts.Timeout, Lookback: opts.Lookback})
	return &API{opts: opts, deps: deps, plain: plain, engine: engine, parser: p}
}

func newParser() parser.Parser {
	return parser.NewParser(parser.Options{
		EnableExperimentalFunctions: true, EnableBinopFillModifiers: true, EnableUnquotedUTF8Names: true,
	})
}

// The times that stand for an open end, far beyond any sample.
//
//nolint:gochecknoglobals // constants of a type that has none
var (
	minTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	maxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()
)

// Answer implements Answerer.
func (a *API) Answer(ctx context.Context, q Question) Answer {
	data, err := a.dispatch(ctx, &call{Question: q, now: a.deps.Clock.Now()})
	if err != nil {
		return failure(err)
	}
	return success(data, q.Form.Get("query"))
}

// call is a question under way.
type call struct {
	Question
	now time.Time
}

// dispatch answers by path. A nil result is 204, as Prometheus has it.
func (a *API) dispatch(ctx context.Context, c *call) (*result, error) {
	path := c.Path
	switch {
	case path == "query":
		return a.instant(ctx, c)
	case path == "query_range":
		return a.rangeQuery(ctx, c)
	case path == "series":
		return a.series(ctx, c)
	case path == "labels":
		return a.labelNames(ctx, c)
	case strings.HasPrefix(path, "label/") && strings.HasSuffix(path, "/values"):
		name := strings.TrimSuffix(strings.TrimPrefix(path, "label/"), "/values")
		return a.labelValues(ctx, c, name)
	case path == "metadata":
		return a.metadata(ctx, c)
	case path == "query_exemplars":
		return a.exemplars(ctx, c)
	case path == "format_query":
		return a.formatQuery(c)
	case path == "parse_query":
		return a.parseQuery(c)
	default:
		return a.status(path)
	}
}

// Paths lists the paths below /api/v1 with the methods that they take; {name} stands for a label's name.
func Paths() map[string][]string {
	both, get := []string{http.MethodGet, http.MethodPost}, []string{http.MethodGet}
	return map[string][]string{
		"query": both, "query_range": both, "series": both, "labels": both, "label/{name}/values": get, "metadata": get,
		"query_exemplars": both, "format_query": both, "parse_query": both, "status/buildinfo": get, "status/runtimeinfo": get,
		"status/flags": get, "rules": get, "alerts": get, "targets": get,
	}
}

// ReadsSamples reports whether a question of that path is a query, which reads samples, and not one for names and labels.
func ReadsSamples(path string) bool {
	return path == "query" || path == "query_range" || path == "query_exemplars"
}

func errNoPath(path string) error { return fault.New(fault.NotFound, "no such path: %s", path) }
