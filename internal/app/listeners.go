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
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/otlpgrpc"
	"github.com/millstream/millstream/internal/querier"
)

// listeners are the ports of a node with the full API.
type listeners struct {
	*standalone
	api, otlp *http.Server
	grpc      *grpc.Server
	sockets   []net.Listener // of api, otlp and grpc
}

// Timeouts of connections. Requests themselves have none: a body may be as long as its sender needs.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
)

// start opens the ports. Requests are served from now on; most get 503 until the log is replayed.
func (l *listeners) start(ctx context.Context) error {
	c := l.config
	auth := ingress.NewAuthenticator(ingress.Mode(c.Auth.Mode))
	deps := httpapi.Deps{
		Auth: auth, Front: l.front(), Querier: localQuerier{l.querier}, Status: l.standalone, Version: version,
		Metrics: promhttp.HandlerFor(l.metrics, promhttp.HandlerOpts{}), Logger: l.component("http"), Registerer: l.metrics,
	}
	l.api, l.otlp = newServer(httpapi.New(deps)), newServer(httpapi.NewOTLP(deps))
	otlpgrpc.RegisterCompressors()
	l.grpc = grpc.NewServer(otlpgrpc.ServerOptions()...)
	otlpgrpc.NewService(auth, deps.Front, l.component("otlp_grpc")).Register(l.grpc)
	for _, addr := range []string{c.HTTP.Addr(), c.OTLPHTTP.Addr(), c.OTLPGRPC.Addr()} {
		socket, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", addr, err)
		}
		l.sockets = append(l.sockets, socket)
	}
	return nil
}

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout}
}

// run serves until ctx ends.
func (l *listeners) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return ignoreClosed(l.api.Serve(l.sockets[0])) })
	g.Go(func() error { return ignoreClosed(l.otlp.Serve(l.sockets[1])) })
	g.Go(func() error { return l.grpc.Serve(l.sockets[2]) })
	g.Go(func() error {
		<-ctx.Done()
		l.grpc.Stop()
		return errors.Join(l.api.Close(), l.otlp.Close())
	})
	return g.Wait()
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (l *listeners) close(context.Context) error {
	for _, s := range l.sockets {
		_ = s.Close() // the servers have closed theirs
	}
	return nil
}

// announce says that the node takes requests.
func (l *listeners) announce(context.Context) error {
	l.logger.Info("ready", "http", l.sockets[0].Addr().String(), "otlp_http", l.sockets[1].Addr().String(),
		"otlp_grpc", l.sockets[2].Addr().String())
	return nil
}

// drain makes readyz say so and waits for the requests under way, at most for half of what is left of the drain: the rest belongs
// to the flush.
func (l *listeners) drain(ctx context.Context) error {
	l.serving.Store(false)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.api.Shutdown(ctx) })
	g.Go(func() error { return l.otlp.Shutdown(ctx) })
	g.Go(func() error {
		done := make(chan struct{})
		go func() { defer close(done); l.grpc.GracefulStop() }()
		select {
		case <-done:
		case <-ctx.Done():
			l.grpc.Stop()
			<-done
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		l.logger.Warn("requests were cut off by the stop", "error", err)
	}
	return nil
}

// localQuerier answers questions with the querier of this process.
type localQuerier struct{ *querier.Querier }

// Ask implements answer.Answerer.
func (q localQuerier) Ask(ctx context.Context, r answer.Question) (answer.Result, error) {
	result, err := q.Query(ctx, querier.Request{
		Org: r.Org, Database: r.Database, Statement: r.Statement, Start: r.Start, End: r.End, Limit: int64(r.Limit), Admin: r.Admin,
	})
	if err != nil {
		return nil, err
	}
	return localResult{result}, nil
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
