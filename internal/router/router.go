package router

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

// Errors for clients.
var (
	ErrNoIntake  = fault.New(fault.Unavailable, "no intake node is available")
	ErrNoQuerier = fault.New(fault.Unavailable, "no querier node is available")
)

// ErrUnreachable is matched by errors of nodes that have answered nothing: another one may be asked.
var ErrUnreachable = errors.New("the node cannot be reached")

// ErrBusy is matched by errors of queriers that run as many queries as they may: nothing was begun, another one may be asked.
var ErrBusy = errors.New("the querier is busy")

// Outcome says what became of a batch.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // it may be stored
	Stored                 // it is durable
	Refused                // the node has said that nothing is or will be stored
	NotSent                // the node has not seen it
)

// Intake is a node that makes batches durable.
type Intake interface {
	// Append stores a batch that has an ID and a Block. The error is nil when the outcome is Stored, or a *signal.RefusedSamples when
	// all but some samples are.
	Append(ctx context.Context, b *signal.Batch) (Outcome, error)
}

// Members is the cluster's membership.
type Members interface {
	// View returns the current view, at most two seconds old while the database answers, and the last good one while it does not.
	View(ctx context.Context) (*cluster.View, error)
}

// Nodes reaches nodes. Both functions answer at once; connecting happens at the first call.
type Nodes interface {
	Intake(n cluster.Node) (Intake, error)
	Querier(n cluster.Node) (answer.Answerer, error)
}

// Deps are the collaborators.
type Deps struct {
	Members Members
	Nodes   Nodes
	// ForwardBytes bounds the encoded batches on their way, of which each org gets a share (router.forward_memory_max). Default 128 MiB.
	ForwardBytes int64
	Logger       *slog.Logger          // nil: discard
	Registerer   prometheus.Registerer // nil: metrics are kept unregistered
}

// Router forwards batches and statements. It is safe for concurrent use and starts no goroutine beyond a call.
type Router struct {
	deps    Deps
	ids     ids
	codec   arrowipc.Codec
	turn    turn
	onWay   *quota.Shares
	metrics *metrics
}

// New returns a router.
func New(deps Deps) *Router {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.ForwardBytes <= 0 {
		deps.ForwardBytes = 128 << 20
	}
	return &Router{
		deps: deps, ids: newIDs(), metrics: newMetrics(deps.Registerer), onWay: quota.NewShares(deps.ForwardBytes, clock.System{}),
	}
}

type metrics struct {
	forwards  *prometheus.CounterVec // by outcome
	fallbacks prometheus.Counter
	asks      *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		forwards: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_router_forwards_total", Help: "Batches handed to an intake node, by what it said.",
		}, []string{"outcome"}),
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_router_fallbacks_total", Help: "Batches stored by another node than the owner of their slot.",
		}),
		asks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_router_asks_total", Help: "Statements handed to a querier, by whether it answered.",
		}, []string{"outcome"}),
	}
	if reg != nil {
		reg.MustRegister(m.forwards, m.fallbacks, m.asks)
	}
	return m
}

var outcomeNames = [...]string{Unknown: "unknown", Stored: "stored", Refused: "refused", NotSent: "not_sent"}

// String implements fmt.Stringer.
func (o Outcome) String() string { return outcomeNames[o] }
