package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/slot"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/signal"
)

// fakeCluster is members of which each intake answers as its script says.
type fakeCluster struct {
	view *cluster.View

	mu      sync.Mutex
	scripts map[string][]router.Outcome // by node, Stored when it is used up
	errs    map[string]error            // what comes with a refusal
	calls   []call
	asked   []string
	down    map[string]bool // queriers that cannot be reached
	busy    map[string]bool // queriers that run as much as they may
}

type call struct {
	node string
	id   signal.BatchID
	rows int
}

func newCluster(ids ...string) *fakeCluster {
	var listed []cluster.Listed
	for _, id := range ids {
		n := cluster.Node{ID: id, Roles: []cluster.Role{cluster.RoleIntake, cluster.RoleQuerier}}
		listed = append(listed, cluster.Listed{Node: n, Active: n.Roles})
	}
	return &fakeCluster{
		view:    cluster.NewView(1, cluster.Algo, listed),
		scripts: make(map[string][]router.Outcome), errs: make(map[string]error), down: make(map[string]bool), busy: make(map[string]bool),
	}
}

func (c *fakeCluster) View(context.Context) (*cluster.View, error) { return c.view, nil }

func (c *fakeCluster) Intake(n cluster.Node) (router.Intake, error) { return fakeNode{c, n.ID}, nil }

func (c *fakeCluster) Querier(n cluster.Node) (answer.Answerer, error) { return fakeNode{c, n.ID}, nil }

type fakeNode struct {
	*fakeCluster
	id string
}

func (n fakeNode) Append(_ context.Context, b *signal.Batch) (router.Outcome, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call{n.id, b.ID, b.Rows()})
	script := n.scripts[n.id]
	if len(script) == 0 {
		return router.Stored, nil
	}
	n.scripts[n.id] = script[1:]
	switch script[0] {
	case router.Stored:
		return router.Stored, nil
	case router.NotSent:
		return router.NotSent, router.ErrUnreachable
	case router.Refused:
		return router.Refused, n.errs[n.id]
	default:
		return router.Unknown, errors.New("no answer")
	}
}

func (n fakeNode) Ask(context.Context, answer.Question) (answer.Result, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, n.id)
	if n.down[n.id] {
		return nil, router.ErrUnreachable
	}
	if n.busy[n.id] {
		return nil, fmt.Errorf("too many queries: %w", router.ErrBusy)
	}
	return emptyResult{}, nil
}

type emptyResult struct{}

func (emptyResult) Schema() *arrow.Schema { return arrow.NewSchema(nil, nil) }

func (emptyResult) Next(context.Context) (arrow.RecordBatch, error) { return nil, io.EOF }
func (emptyResult) Meta() answer.Meta                               { return answer.Meta{} }
func (emptyResult) Close() error                                    { return nil }

var logs = signal.Stream{Org: "t1", Database: signal.DefaultDatabase, Signal: signal.Logs, Name: "app"}

func logBatch(rows int) *signal.Batch {
	b := signal.NewBuilder()
	for i := range rows {
		b.BeginRow()
		b.SetInt64(b.Column([]byte("n")), int64(i))
		b.EndRow(int64(i))
	}
	return &signal.Batch{Stream: logs, Record: b.Finish()}
}

// owners returns the ids of the nodes in the order in which they own the stream's slot.
func (c *fakeCluster) owners() []string {
	var out []string
	for _, n := range c.view.Owners(slot.Of("t1", "public", "logs", "app"), 99) {
		out = append(out, n.ID)
	}
	return out
}

func (c *fakeCluster) called() []string {
	var out []string
	for _, x := range c.calls {
		out = append(out, x.node)
	}
	return out
}

func TestForwarding(t *testing.T) {
	t.Parallel()
	const (
		s, r, n, u = router.Stored, router.Refused, router.NotSent, router.Unknown
	)
	full := fault.New(fault.Unavailable, "the disk is full")
	for name, x := range map[string]struct {
		scripts [][]router.Outcome // of the owners in order
		refusal error
		calls   []int // owners asked
		text    string
		kind    fault.Kind
	}{
		"the owner takes it": {calls: []int{0}},
		"the owner is dead":  {scripts: [][]router.Outcome{{n}}, calls: []int{0, 1}},
		"the owner refuses":  {scripts: [][]router.Outcome{{r}}, refusal: full, calls: []int{0, 1}},
		"two are dead":       {scripts: [][]router.Outcome{{n}, {n}}, calls: []int{0, 1, 2}},
		"a fourth is not tried": {
			scripts: [][]router.Outcome{{n}, {n}, {n}}, calls: []int{0, 1, 2}, text: "no intake node is available", kind: fault.Unavailable,
		},
		"a refusal is told rather than death": {
			scripts: [][]router.Outcome{{n}, {r}, {n}}, refusal: full, calls: []int{0, 1, 2}, text: "the disk is full", kind: fault.Unavailable,
		},
		"the client's fault ends it": {
			scripts: [][]router.Outcome{{r}}, refusal: fault.New(fault.NotFound, "unknown database"), calls: []int{0},
			text: "unknown database", kind: fault.NotFound,
		},
		"a lost answer is asked for again": {scripts: [][]router.Outcome{{u, s}}, calls: []int{0, 0}},
		"twice lost is unknown": {
			scripts: [][]router.Outcome{{u, u}}, calls: []int{0, 0}, text: "outcome unknown", kind: fault.Unavailable,
		},
		"a refusal after a loss proves nothing": {
			scripts: [][]router.Outcome{{u, r}}, refusal: full, calls: []int{0, 0}, text: "outcome unknown", kind: fault.Unavailable,
		},
		"nor does death": {scripts: [][]router.Outcome{{u, n}}, calls: []int{0, 0}, text: "outcome unknown", kind: fault.Unavailable},
		"a lost answer of the second": {
			scripts: [][]router.Outcome{{n}, {u, u}}, calls: []int{0, 1, 1}, text: "outcome unknown", kind: fault.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster("a", "b", "c", "d")
			owners := c.owners()
			for i, script := range x.scripts {
				c.scripts[owners[i]] = script
				c.errs[owners[i]] = x.refusal
			}
			b := logBatch(3)
			defer b.Release()
			err := router.New(router.Deps{Members: c, Nodes: c}).Write(context.Background(), b)
			var want []string
			for _, i := range x.calls {
				want = append(want, owners[i])
			}
			require.Equal(t, want, c.called())
			for _, call := range c.calls {
				require.Equal(t, c.calls[0].id, call.id, "one batch has one id")
			}
			if x.text == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, x.kind, fault.KindOf(err))
			require.Contains(t, fault.Message(err), x.text)
		})
	}
}

func TestNoNodes(t *testing.T) {
	t.Parallel()
	c := newCluster()
	r := router.New(router.Deps{Members: c, Nodes: c})
	b := logBatch(1)
	defer b.Release()
	err := r.Write(context.Background(), b)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Equal(t, "no intake node is available", fault.Message(err))
	_, err = r.Ask(context.Background(), answer.Question{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Equal(t, "no querier node is available", fault.Message(err))
}

func TestQueriersTakeTurns(t *testing.T) {
	t.Parallel()
	c := newCluster("a", "b", "c")
	r := router.New(router.Deps{Members: c, Nodes: c})
	for range 6 {
		result, err := r.Ask(context.Background(), answer.Question{})
		require.NoError(t, err)
		require.NoError(t, result.Close())
	}
	for _, id := range []string{"a", "b", "c"} {
		require.Len(t, slices.DeleteFunc(slices.Clone(c.asked), func(x string) bool { return x != id }), 2)
	}
	c.down["a"], c.down["b"], c.asked = true, true, nil
	for range 3 {
		result, err := r.Ask(context.Background(), answer.Question{})
		require.NoError(t, err)
		require.NoError(t, result.Close())
	}
	require.Equal(t, "c", c.asked[len(c.asked)-1])
	c.down["c"] = true
	_, err := r.Ask(context.Background(), answer.Question{})
	require.Equal(t, "no querier node is available", fault.Message(err))
}

func TestBusyQueriersAreLeftAlone(t *testing.T) {
	t.Parallel()
	c := newCluster("a", "b", "c")
	c.busy["a"], c.down["b"] = true, true
	r := router.New(router.Deps{Members: c, Nodes: c})
	for range 3 {
		_, err := r.Ask(context.Background(), answer.Question{})
		require.NoError(t, err)
		require.Equal(t, "c", c.asked[len(c.asked)-1])
	}
	c.down["c"] = true
	_, err := r.Ask(context.Background(), answer.Question{})
	require.ErrorIs(t, err, router.ErrBusy, "it may have room soon")
}

// TestMetricsGoToTheOwnersOfTheirNames writes one batch of many metrics: every row reaches the owner of its metric, once.
func TestMetricsGoToTheOwnersOfTheirNames(t *testing.T) {
	t.Parallel()
	c := newCluster("a", "b", "c")
	b := signal.NewBuilder()
	want := make(map[string]int)
	for i := range 300 {
		name := "metric_" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		b.BeginRow()
		b.SetString(b.OwnColumn(signal.MetricColumn), []byte(name))
		b.EndRow(int64(i))
		want[c.view.Owners(slot.Of("t1", "public", "metrics", name), 1)[0].ID]++
	}
	batch := &signal.Batch{
		Stream: signal.Stream{Org: "t1", Database: signal.DefaultDatabase, Signal: signal.Metrics}, Record: b.Finish(),
	}
	defer batch.Release()
	require.NoError(t, router.New(router.Deps{Members: c, Nodes: c}).Write(context.Background(), batch))
	got := make(map[string]int)
	for _, x := range c.calls {
		got[x.node] += x.rows
	}
	require.Equal(t, want, got)
	require.Len(t, c.calls, 3, "rows of one owner stay together")

	dead := c.calls[0].node
	c.calls, c.scripts[dead] = nil, []router.Outcome{router.Unknown, router.Unknown}
	err := router.New(router.Deps{Members: c, Nodes: c}).Write(context.Background(), batch)
	require.Contains(t, fault.Message(err), "rows of the batch are stored")
	require.Contains(t, fault.Message(err), "outcome unknown")
}
