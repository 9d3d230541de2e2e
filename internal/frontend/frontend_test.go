package frontend_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/frontend"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/tenant"
)

// queriers answer every question with nothing, unless they are busy.
type queriers struct {
	mu    sync.Mutex
	busy  int // how many questions are turned away first
	panic bool
	asked int
	err   error
}

func (q *queriers) next() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.panic {
		panic("in the querier")
	}
	if q.busy > 0 {
		q.busy--
		return fault.Wrap(fault.Unavailable, router.ErrBusy, "busy")
	}
	q.asked++
	return q.err
}

func (q *queriers) Ask(context.Context, answer.Question) (answer.Result, error) {
	if err := q.next(); err != nil {
		return nil, err
	}
	return nothing{}, nil
}

func (q *queriers) Answer(context.Context, promapi.Question) promapi.Answer {
	if err := q.next(); err != nil {
		return promapi.Failure(err)
	}
	return promapi.Answer{Status: 200}
}

func (q *queriers) Read(_ context.Context, _ promapi.ReadRequest, send func([]byte) error) error {
	if err := q.next(); err != nil {
		return err
	}
	return send([]byte("rows"))
}

type nothing struct{}

func (nothing) Schema() *arrow.Schema                           { return arrow.NewSchema(nil, nil) }
func (nothing) Next(context.Context) (arrow.RecordBatch, error) { return nil, io.EOF }
func (nothing) Meta() answer.Meta                               { return answer.Meta{} }
func (nothing) Close() error                                    { return nil }

func newFrontend(q *queriers, o fairqueue.Options) *frontend.Frontend {
	return frontend.New(frontend.Deps{Queue: fairqueue.New(o), SQL: q, PromQL: q, PromRead: q})
}

func sql(text string) answer.Question { return answer.Question{Org: "a", Statement: text} }

func TestAQueryHoldsItsSlotUntilItIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFrontend(&queriers{}, fairqueue.Options{Capacity: 1})
		first, err := f.Ask(t.Context(), sql("SELECT 1"))
		require.NoError(t, err)
		for _, passing := range []string{"SHOW STREAMS", "DESCRIBE app", "CREATE DATABASE d"} {
			_, err := f.Ask(t.Context(), sql(passing))
			require.NoError(t, err, passing)
		}
		require.Equal(t, 200, f.Answer(t.Context(), promapi.Question{Org: "a", Path: "labels"}).Status)
		time.AfterFunc(2*time.Second, func() { _ = first.Close() })
		began := time.Now()
		second, err := f.Ask(t.Context(), sql("SUMMARIZE app"))
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(began))
		require.InDelta(t, 2000, second.Meta().Stats.QueueMS, 0)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := f.Answer(ctx, promapi.Question{Org: "a", Path: "query"})
		require.Equal(t, 503, a.Status, "Prometheus' status of a timeout")
		require.Equal(t, fault.Deadline, fault.KindOf(a.Err))
		require.NoError(t, second.Close())
		require.Equal(t, 200, f.Answer(t.Context(), promapi.Question{Org: "a", Path: "query"}).Status)
	})
}

func TestBusyQueriersAreAskedOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queriers{busy: 1}
		f := newFrontend(q, fairqueue.Options{Capacity: 1})
		r, err := f.Ask(t.Context(), sql("SELECT 1"))
		require.NoError(t, err)
		require.NoError(t, r.Close())
		q.busy = 1
		require.Equal(t, 200, f.Answer(t.Context(), promapi.Question{Org: "a", Path: "query"}).Status)
		q.busy = 2
		_, err = f.Ask(t.Context(), sql("SELECT 1"))
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		q.busy = 2
		require.Equal(t, 503, f.Answer(t.Context(), promapi.Question{Org: "a", Path: "query"}).Status)
		q.busy = 1
		sent := 0
		require.NoError(t, f.Read(t.Context(), promapi.ReadRequest{Org: "a"}, func([]byte) error { sent++; return nil }))
		require.Equal(t, 1, sent)
		require.Equal(t, 3, q.asked)
	})
}

func TestFailuresGiveTheSlotBack(t *testing.T) {
	t.Parallel()
	q := &queriers{err: fault.New(fault.Invalid, "no")}
	f := newFrontend(q, fairqueue.Options{Capacity: 1})
	_, err := f.Ask(t.Context(), sql("SELECT 1"))
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	q.panic = true
	require.Panics(t, func() { _, _ = f.Ask(t.Context(), sql("SELECT 1")) })
	require.Panics(t, func() { f.Answer(t.Context(), promapi.Question{Org: "a", Path: "query"}) })
	q.panic, q.err = false, nil
	r, err := f.Ask(t.Context(), sql("SELECT 1"))
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

func TestAFullLineIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.Default()
		l.MaxOutstandingQueries = 1
		settings := func(tenant.ID) fairqueue.Settings { return frontend.Settings(l) }
		f := newFrontend(&queriers{}, fairqueue.Options{Capacity: 1, Settings: settings})
		first, err := f.Ask(t.Context(), sql("SELECT 1"))
		require.NoError(t, err)
		waiting := make(chan error)
		go func() {
			_, err := f.Ask(t.Context(), sql("SELECT 1"))
			waiting <- err
		}()
		synctest.Wait()
		both := sql("SELECT 1")
		both.Org, both.Orgs = "_", []tenant.ID{"_", "a"}
		_, err = f.Ask(t.Context(), both)
		require.Equal(t, fault.Limited, fault.KindOf(err), "charged to each org")
		require.Contains(t, fmt.Sprint(err), `org "a"`)
		require.NoError(t, first.Close())
		require.NoError(t, <-waiting)
	})
}
