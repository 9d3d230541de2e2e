package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/otlpgrpc"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/rpc"
)

// listeners are the ports of a process.
//
//	HTTP        every role; the full API on router and standalone, three paths elsewhere
//	OTLP/HTTP   router, standalone
//	OTLP/gRPC   router, standalone, intake
//	internal    standalone, intake, querier, with a cluster token
type listeners struct {
	*node
	servers []server // in the order above
}

// server is a port with what answers on it.
type server struct {
	name   string // in logs
	socket net.Listener
	http   *http.Server
	grpc   *grpc.Server
	// peers is the port of other nodes, which stays open until the rows are flushed.
	peers bool
}

// Timeouts of connections. Requests themselves have none: a body may be as long as its sender needs.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Names of the ports in logs.
const (
	portHTTP     = "http"
	portOTLPHTTP = "otlp_http"
	portOTLPGRPC = "otlp_grpc"
	portPeers    = "grpc"
)

// open takes the ports. Nothing is answered before start.
func (l *listeners) open(ctx context.Context) error {
	c := l.config
	for _, p := range []struct {
		name string
		at   config.Listener
		on   bool
	}{
		{portHTTP, c.HTTP, true},
		{portOTLPHTTP, c.OTLPHTTP, l.hasAPI()},
		{portOTLPGRPC, c.OTLPGRPC, l.takesWrites()},
		{portPeers, c.GRPC, l.offersPeers()},
	} {
		if !p.on {
			continue
		}
		socket, err := new(net.ListenConfig).Listen(ctx, "tcp", p.at.Addr())
		if err != nil {
			return fmt.Errorf("listen on %s: %w", p.at.Addr(), err)
		}
		l.servers = append(l.servers, server{name: p.name, socket: socket, peers: p.name == portPeers})
	}
	return nil
}

// peerAddress is where other nodes reach the internal port.
func (l *listeners) peerAddress() string {
	for _, s := range l.servers {
		if s.peers && l.config.GRPC.Port == 0 && l.config.Cluster.AdvertiseAddr == l.config.GRPC.Addr() {
			return s.socket.Addr().String()
		}
	}
	return l.config.Cluster.AdvertiseAddr
}

// start makes what answers on the ports. Requests are served from now on; most get 503 until the log is replayed.
func (l *listeners) start(context.Context) error {
	who := l.authenticator()
	tokens, err := l.registry()
	if err != nil {
		return err
	}
	deps := httpapi.Deps{
		Auth: who, Tokens: tokens, Audit: auth.NewAudit(l.catalog, l.component("audit")),
		Status: l.node, Cluster: operators{l.node}, Limits: limitReport{l.node}, Requests: l.requestRates(), Version: version,
		Metrics: promhttp.HandlerFor(l.metrics, promhttp.HandlerOpts{}), Logger: l.component("http"), Registerer: l.metrics,
	}
	if l.takesWrites() {
		deps.Front = l.front()
	}
	if l.hasAPI() {
		deps.Querier, deps.PromQL, deps.PromRead = l.frontend, l.frontend, l.frontend
	}
	for i := range l.servers {
		s := &l.servers[i]
		switch {
		case s.name == portHTTP && l.hasAPI():
			s.http = newServer(httpapi.New(deps))
		case s.name == portHTTP:
			s.http = newServer(httpapi.NewInternal(deps))
		case s.name == portOTLPHTTP:
			s.http = newServer(httpapi.NewOTLP(deps))
		case s.name == portOTLPGRPC:
			otlpgrpc.RegisterCompressors()
			s.grpc = grpc.NewServer(otlpgrpc.ServerOptions()...)
			otlpgrpc.NewService(countedCallers{who, deps.Requests.Intake}, deps.Front, l.component("otlp_grpc")).Register(s.grpc)
		case s.peers:
			s.grpc = rpc.NewServer(l.config.Cluster.Token.Reveal(), l.services(), l.component("rpc"))
		}
	}
	return nil
}

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout}
}

// run serves until ctx ends.
func (l *listeners) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range l.servers {
		g.Go(s.serve)
	}
	g.Go(func() error {
		<-ctx.Done()
		var errs []error
		for _, s := range l.servers {
			errs = append(errs, s.cut())
		}
		return errors.Join(errs...)
	})
	return g.Wait()
}

func (s server) serve() error {
	if s.grpc != nil {
		return s.grpc.Serve(s.socket)
	}
	return ignoreClosed(s.http.Serve(s.socket))
}

// cut ends all connections at once.
func (s server) cut() error {
	if s.grpc != nil {
		s.grpc.Stop()
		return nil
	}
	return s.http.Close()
}

// finish waits for the requests under way until ctx ends, and then cuts them off.
func (s server) finish(ctx context.Context) error {
	if s.grpc == nil {
		return s.http.Shutdown(ctx)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.grpc.GracefulStop() }()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (l *listeners) close(context.Context) error {
	for _, s := range l.servers {
		_ = s.socket.Close() // the servers have closed theirs
	}
	return nil
}

// announce says that the node takes requests.
func (l *listeners) announce(context.Context) error {
	if m, ok := l.joined(); ok {
		m.SetReady(true)
	}
	attrs := make([]any, 0, 2*len(l.servers))
	for _, s := range l.servers {
		attrs = append(attrs, s.name, s.socket.Addr().String())
	}
	l.logger.Info("ready", attrs...)
	return nil
}

// drain ends the node's part in the cluster, waits until the others know, and then for the requests under way: at most for half of
// what is left of the drain, since the rest belongs to the flush. The port of other nodes stays open for fresh reads.
func (l *listeners) drain(ctx context.Context) error {
	l.serving.Store(false)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	l.withdraw(ctx)
	var g errgroup.Group
	for _, s := range l.servers {
		if !s.peers {
			g.Go(func() error { return s.finish(ctx) })
		}
	}
	g.Go(func() error { return l.asked.wait(ctx) })
	if err := g.Wait(); err != nil {
		l.logger.Warn("requests were cut off by the stop", "error", err)
	}
	return nil
}

// localQuerier answers questions with the querier of this process.
type localQuerier struct{ *querier.Querier }

// Ask implements answer.Answerer.
func (q localQuerier) Ask(ctx context.Context, r answer.Question) (answer.Result, error) {
	result, err := q.Query(ctx, request(r))
	if err != nil {
		return nil, err
	}
	return localResult{result}, nil
}

// Split implements answer.Splitter.
func (q localQuerier) Split(ctx context.Context, r answer.Question) (*answer.Split, error) {
	return q.Querier.Split(ctx, request(r))
}

func request(r answer.Question) querier.Request {
	return querier.Request{
		Org: r.Org, Orgs: r.Orgs, Database: r.Database, Statement: r.Statement, Start: r.Start, End: r.End, Limit: int64(r.Limit),
		Now: r.Now, Actor: r.Actor, Change: r.Change, Admin: r.Admin,
	}
}

type localResult struct{ *querier.Result }

// Meta implements answer.Result.
func (r localResult) Meta() answer.Meta {
	s := r.Stats()
	return answer.Meta{Warnings: r.Warnings(), Stats: answer.Stats{
		ScannedRows: s.ScannedRows, ScannedBytes: s.ScannedBytes, FreshRows: s.FreshRows, Segments: s.Segments,
		SegmentsPruned: s.SegmentsPruned, RowGroups: s.RowGroups, GroupsPruned: s.RowGroupsPruned, Pruned: s.PrunedBy, Rows: s.Rows,
		TookMS: float64(s.Took.Microseconds()) / 1000,
	}}
}
