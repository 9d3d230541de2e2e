package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/rpc"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a long and secret token"

// fakeNode is what stands behind a server. Its fields are set before the first call.
type fakeNode struct {
	mu      sync.Mutex
	batches []*signal.Batch
	err     error         // of Write and Ask
	hang    chan struct{} // Write waits for it when set
	rows    [][]int64     // of an answer, a record each
	fail    error         // ends an answer instead of EOF
	closed  chan struct{} // closed with the answer
	closing bool

	forgotten []string
}

var errRefused = errors.New("refused")

func (n *fakeNode) Write(ctx context.Context, batches ...*signal.Batch) error {
	n.mu.Lock()
	for _, b := range batches {
		b.Record.Retain()
		n.batches = append(n.batches, &signal.Batch{Stream: b.Stream, Record: b.Record, ID: b.ID, Block: b.Block})
	}
	n.mu.Unlock()
	if n.hang != nil {
		select {
		case <-n.hang:
		case <-ctx.Done():
		}
	}
	return n.err
}

func (n *fakeNode) ForgetDatabase(org tenant.ID, database string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgotten = append(n.forgotten, string(org)+"/"+database)
}

func (n *fakeNode) Hold(context.Context, fresh.Request) (fresh.Result, []catalog.WriterKey, error) {
	chunk := func(seq uint64, rows int) fresh.Chunk { return fresh.Chunk{Seq: seq, Record: logBatch(rows).Record} }
	key := catalog.WriterKey{Node: "i1", Epoch: 7}
	return fresh.Result{Warnings: []string{"careful"}, Snapshots: []fresh.Snapshot{
		{Writer: key, Dataset: 1, Chunks: []fresh.Chunk{chunk(1, 2), chunk(2, 3)}},
		{Writer: key, Dataset: 2, Chunks: []fresh.Chunk{chunk(9, 1)}},
	}}, []catalog.WriterKey{key}, n.err
}

func (n *fakeNode) Ask(context.Context, answer.Question) (answer.Result, error) {
	if n.err != nil {
		return nil, n.err
	}
	return &fakeResult{node: n}, nil
}

type fakeResult struct {
	node *fakeNode
	n    int
}

func (*fakeResult) Schema() *arrow.Schema { return logBatch(1).Record.Schema() }

func (r *fakeResult) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.n < len(r.node.rows) {
		r.n++
		return logBatch(len(r.node.rows[r.n-1])).Record, nil
	}
	if r.node.hang != nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if r.node.fail != nil {
		return nil, r.node.fail
	}
	return nil, io.EOF
}

func (r *fakeResult) Meta() answer.Meta {
	return answer.Meta{Stats: answer.Stats{ScannedRows: int64(r.n)}, Warnings: []string{"w"}}
}

func (r *fakeResult) Close() error {
	if r.node.closed != nil {
		close(r.node.closed)
	}
	return nil
}

func logBatch(rows int) *signal.Batch {
	b := signal.NewBuilder()
	for i := range rows {
		b.BeginRow()
		b.SetInt64(b.Column([]byte("n")), int64(i))
		b.EndRow(int64(i) * 1000)
	}
	return &signal.Batch{
		Stream: signal.Stream{Org: "t1", Database: "d", Signal: signal.Traces, Name: "app"}, Record: b.Finish(),
		ID: signal.BatchID{Origin: 1 << 63, Number: 2},
	}
}

// serve runs the server of a node and returns a peer for it.
func serve(t *testing.T, n *fakeNode, opts rpc.Options) (*rpc.Peer, *grpc.Server) {
	t.Helper()
	const patience = time.Minute // of a machine that is busy with other tests
	opts.DialTimeout, opts.PingTimeout = patience, patience
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := rpc.NewServer(secret, rpc.Services{
		Appender: n, Holder: n, Answerer: n, PromRead: n, Refused: func(err error) bool { return errors.Is(err, errRefused) },
		Open: func() error {
			if n.closing {
				return fault.New(fault.Unavailable, "draining")
			}
			return nil
		},
	}, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	peers := rpc.NewPeers(secret, opts)
	t.Cleanup(func() {
		require.NoError(t, peers.Close())
		s.Stop()
		require.NoError(t, <-done)
	})
	return peer(t, peers, l.Addr().String()), s
}

func peer(t *testing.T, p *rpc.Peers, address string) *rpc.Peer {
	t.Helper()
	out, err := p.Peer(address)
	require.NoError(t, err)
	return out
}

func encoded(t *testing.T, rows int) *signal.Batch {
	t.Helper()
	b := logBatch(rows)
	var c arrowipc.Codec
	var err error
	b.Block, err = c.Append(nil, b.Record.Schema(), b.Record)
	require.NoError(t, err)
	return b
}

func TestAppendCarriesTheBatch(t *testing.T) {
	t.Parallel()
	n := &fakeNode{}
	p, _ := serve(t, n, rpc.Options{})
	b := encoded(t, 5)
	outcome, err := p.Append(context.Background(), b)
	require.NoError(t, err)
	require.Equal(t, router.Stored, outcome)
	require.Len(t, n.batches, 1)
	got := n.batches[0]
	require.Equal(t, b.Stream, got.Stream)
	require.Equal(t, b.ID, got.ID)
	require.Equal(t, b.Block, got.Block)
	require.True(t, b.Record.Schema().Equal(got.Record.Schema()))
	require.EqualValues(t, 5, got.Record.NumRows())
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		err     error
		outcome router.Outcome
		kind    fault.Kind
	}{
		"refused": {
			fault.Wrap(fault.Unavailable, errRefused, "the disk is full").After(7 * time.Second), router.Refused, fault.Unavailable,
		},
		"refused for good":      {fault.Wrap(fault.NotFound, errRefused, "unknown database"), router.Refused, fault.NotFound},
		"failed after the log":  {fault.New(fault.Unavailable, "the log could not be synced"), router.Unknown, fault.Unavailable},
		"failed with no reason": {errors.New("secret details"), router.Unknown, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := serve(t, &fakeNode{err: x.err}, rpc.Options{})
			outcome, err := p.Append(context.Background(), encoded(t, 1))
			require.Equal(t, x.outcome, outcome)
			require.Equal(t, x.kind, fault.KindOf(err))
			require.Equal(t, fault.Message(x.err), fault.Message(err))
			require.Equal(t, fault.RetryAfter(x.err), fault.RetryAfter(err))
		})
	}
}

func TestADrainingNodeRefuses(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, &fakeNode{closing: true}, rpc.Options{})
	outcome, err := p.Append(context.Background(), encoded(t, 1))
	require.Equal(t, router.Refused, outcome)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	_, err = p.Ask(context.Background(), answer.Question{})
	require.ErrorIs(t, err, router.ErrUnreachable)
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	peers := rpc.NewPeers(secret, rpc.Options{})
	defer func() { require.NoError(t, peers.Close()) }()
	p := peer(t, peers, address)
	for range 3 {
		outcome, err := p.Append(context.Background(), encoded(t, 1))
		require.Equal(t, router.NotSent, outcome)
		require.ErrorIs(t, err, router.ErrUnreachable)
	}
	_, err = p.Ask(context.Background(), answer.Question{})
	require.ErrorIs(t, err, router.ErrUnreachable)
	_, _, err = p.Snapshot(context.Background(), fresh.Request{})
	require.ErrorIs(t, err, router.ErrUnreachable)
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel and says nothing
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	peers := rpc.NewPeers(secret, rpc.Options{DialTimeout: 50 * time.Millisecond})
	defer func() { require.NoError(t, peers.Close()) }()
	outcome, err := peer(t, peers, l.Addr().String()).Append(context.Background(), encoded(t, 1))
	require.Equal(t, router.NotSent, outcome)
	require.ErrorIs(t, err, router.ErrUnreachable)
}

// TestALostAnswerIsUnknown: the node hangs, then does not answer a ping, then works again.
func TestALostAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	n := &fakeNode{hang: make(chan struct{})}
	p, s := serve(t, n, rpc.Options{ForwardTimeout: 100 * time.Millisecond})
	outcome, err := p.Append(context.Background(), encoded(t, 1))
	require.Equal(t, router.Unknown, outcome)
	require.Error(t, err)
	// The node answers pings, so the same batch is sent again.
	close(n.hang)
	outcome, err = p.Append(context.Background(), encoded(t, 1))
	require.NoError(t, err)
	require.Equal(t, router.Stored, outcome)
	s.Stop()
	require.Eventually(t, func() bool { // once the client has seen that the connection is gone
		outcome, err = p.Append(context.Background(), encoded(t, 1))
		return outcome == router.NotSent && errors.Is(err, router.ErrUnreachable)
	}, 10*time.Second, time.Millisecond)
}

func TestABrokenConnectionIsUnknown(t *testing.T) {
	t.Parallel()
	n := &fakeNode{hang: make(chan struct{})}
	p, s := serve(t, n, rpc.Options{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			n.mu.Lock()
			arrived := len(n.batches) > 0
			n.mu.Unlock()
			if arrived {
				break
			}
			time.Sleep(time.Millisecond)
		}
		s.Stop()
	}()
	outcome, err := p.Append(context.Background(), encoded(t, 1))
	require.Equal(t, router.Unknown, outcome)
	require.Error(t, err)
	<-stopped
}

func TestAnswersStream(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	n := &fakeNode{rows: [][]int64{{1, 2}, {3}}, closed: make(chan struct{})}
	p, _ := serve(t, n, rpc.Options{})
	r, err := p.Ask(ctx, answer.Question{Org: "t1"})
	require.NoError(t, err)
	require.Equal(t, "n", r.Schema().Field(1).Name)
	rows := 0
	for {
		record, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		rows += int(record.NumRows())
		record.Release()
	}
	require.Equal(t, 3, rows)
	require.Equal(t, answer.Meta{Stats: answer.Stats{ScannedRows: 2}, Warnings: []string{"w"}}, r.Meta())
	require.NoError(t, r.Close())
	<-n.closed
}

func TestAnAnswerWithoutRowsHasItsSchema(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, &fakeNode{}, rpc.Options{})
	r, err := p.Ask(context.Background(), answer.Question{})
	require.NoError(t, err)
	require.Equal(t, 2, r.Schema().NumFields())
	_, err = r.Next(context.Background())
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
}

func TestErrorsOfAnswers(t *testing.T) {
	t.Parallel()
	coded := sqlplan.WithCode(fault.New(fault.NotFound, "unknown database \"x\""), sqlplan.CodeDatabaseNotFound)
	p, _ := serve(t, &fakeNode{err: coded}, rpc.Options{})
	_, err := p.Ask(context.Background(), answer.Question{})
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	require.Equal(t, sqlplan.CodeDatabaseNotFound, sqlplan.CodeOf(err))
	require.NotErrorIs(t, err, router.ErrUnreachable)

	p, _ = serve(t, &fakeNode{rows: [][]int64{{1}}, fail: fault.New(fault.Deadline, "too long")}, rpc.Options{})
	r, err := p.Ask(context.Background(), answer.Question{})
	require.NoError(t, err)
	record, err := r.Next(context.Background())
	require.NoError(t, err)
	record.Release()
	_, err = r.Next(context.Background())
	require.Equal(t, fault.Deadline, fault.KindOf(err))
	require.NoError(t, r.Close())
}

// TestCancelReachesTheOtherNode: closing the answer, or the end of the context, ends the work there.
func TestCancelReachesTheOtherNode(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(answer.Result, context.CancelFunc){
		"close":   func(r answer.Result, _ context.CancelFunc) { _ = r.Close() },
		"context": func(_ answer.Result, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &fakeNode{rows: [][]int64{{1}}, hang: make(chan struct{}), closed: make(chan struct{})}
			p, _ := serve(t, n, rpc.Options{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r, err := p.Ask(ctx, answer.Question{})
			require.NoError(t, err)
			record, err := r.Next(ctx)
			require.NoError(t, err)
			record.Release()
			end(r, cancel)
			<-n.closed
			_ = r.Close()
		})
	}
}

func TestFreshRows(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, &fakeNode{}, rpc.Options{})
	result, holding, err := p.Snapshot(context.Background(), fresh.Request{Org: "t1", Datasets: []catalog.DatasetID{1, 2}})
	require.NoError(t, err)
	defer result.Release()
	key := catalog.WriterKey{Node: "i1", Epoch: 7}
	require.Equal(t, []catalog.WriterKey{key}, holding)
	require.Equal(t, []string{"careful"}, result.Warnings)
	require.Len(t, result.Snapshots, 2)
	require.Equal(t, key, result.Snapshots[0].Writer)
	require.Len(t, result.Snapshots[0].Chunks, 2)
	require.EqualValues(t, 2, result.Snapshots[0].Chunks[1].Seq)
	require.EqualValues(t, 2, result.Snapshots[1].Dataset)
	require.EqualValues(t, 6, result.Rows())
}

func TestADroppedDatabaseIsForgotten(t *testing.T) {
	t.Parallel()
	n := &fakeNode{}
	p, _ := serve(t, n, rpc.Options{})
	require.NoError(t, p.ForgetDatabase(context.Background(), "t1", "d"))
	require.Equal(t, []string{"t1/d"}, n.forgotten)
}

// TestAWrongTokenRevealsNothing: every call, known or not, gets the same answer.
func TestAWrongTokenRevealsNothing(t *testing.T) {
	t.Parallel()
	n := &fakeNode{}
	p, _ := serve(t, n, rpc.Options{})
	_, err := p.Append(context.Background(), encoded(t, 1))
	require.NoError(t, err)
	for _, token := range []string{"", "wrong", secret + "x"} {
		peers := rpc.NewPeers(token, rpc.Options{})
		stranger := peer(t, peers, p.Address())
		_, err := stranger.Append(context.Background(), encoded(t, 1))
		require.Equal(t, codes.Unauthenticated, status.Code(errors.Unwrap(err)), "%v", err)
		_, err = stranger.Ask(context.Background(), answer.Question{})
		require.Error(t, err)
		_, _, err = stranger.Snapshot(context.Background(), fresh.Request{})
		require.Error(t, err)
		require.NoError(t, peers.Close())
	}
	require.Len(t, n.batches, 1)
}
