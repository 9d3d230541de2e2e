package holders_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/querier/holders"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the catalog's list and the processes behind addresses.
type world struct {
	mu      sync.Mutex
	writers []catalog.Writer
	err     error
	lists   int
	then    func() // called with the lock held after a list was read
	held    map[string][]catalog.WriterKey
	asked   []string
}

func (w *world) Writers(context.Context) ([]catalog.Writer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists++
	out := append([]catalog.Writer(nil), w.writers...)
	if w.then != nil {
		w.then()
	}
	return out, w.err
}

type process struct {
	*world
	address string
}

var errDown = errors.New("connection refused")

func (p process) Snapshot(context.Context, fresh.Request) (fresh.Result, []catalog.WriterKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, p.address)
	held, ok := p.held[p.address]
	if !ok {
		return fresh.Result{}, nil, errDown
	}
	var r fresh.Result
	for _, k := range held {
		r.Snapshots = append(r.Snapshots, fresh.Snapshot{Writer: k})
	}
	return r, held, nil
}

func key(node string, epoch int64) catalog.WriterKey {
	return catalog.WriterKey{Node: node, Epoch: epoch}
}

func writer(node string, epoch int64, address string) catalog.Writer {
	return catalog.Writer{Node: node, Epoch: epoch, Address: address, Started: time.Unix(100, 0)}
}

func newReader(w *world, c clock.Clock) *holders.Reader {
	return holders.New(holders.Options{}, holders.Deps{
		Writers: w, Clock: c, Holder: func(address string) (holders.Holder, error) { return process{w, address}, nil },
	})
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	two := []catalog.Writer{writer("i1", 1, "a:1"), writer("i2", 2, "a:2")}
	for name, x := range map[string]struct {
		writers  []catalog.Writer
		held     map[string][]catalog.WriterKey
		then     func(w *world) // happens after the first list was read
		writer   []string       // epochs answered for
		asked    []string
		warnings []string
	}{
		"all answer": {
			writers: two, held: map[string][]catalog.WriterKey{"a:1": {key("i1", 1)}, "a:2": {key("i2", 2)}}, writer: []string{"i1", "i2"},
		},
		"one process holds several epochs": {
			writers: []catalog.Writer{writer("i1", 1, "a:1"), writer("i1", 5, "a:1")},
			held:    map[string][]catalog.WriterKey{"a:1": {key("i1", 1), key("i1", 5)}}, writer: []string{"i1", "i1"}, asked: []string{"a:1"},
		},
		"one is down": {
			writers: two, held: map[string][]catalog.WriterKey{"a:1": {key("i1", 1)}}, writer: []string{"i1"},
			warnings: []string{"node i2 epoch 2 unreachable, rows since 1970-01-01T00:01:40Z may be missing"},
		},
		"one answers for another epoch": {
			writers: two, held: map[string][]catalog.WriterKey{"a:1": {key("i1", 1)}, "a:2": {key("i2", 9)}}, writer: []string{"i1", "i2"},
			warnings: []string{"node i2 epoch 2 unreachable, rows since 1970-01-01T00:01:40Z may be missing"},
		},
		"one has ended meanwhile": {
			writers: two, held: map[string][]catalog.WriterKey{"a:1": {key("i1", 1)}}, writer: []string{"i1"},
			then: func(w *world) { w.writers = w.writers[:1] },
		},
		"one has moved meanwhile": {
			writers: two, held: map[string][]catalog.WriterKey{"a:1": {key("i1", 1)}, "a:7": {key("i2", 2)}}, writer: []string{"i1", "i2"},
			then: func(w *world) { w.writers = []catalog.Writer{two[0], writer("i2", 2, "a:7")} },
		},
		"one has moved and is down there too": {
			writers: two, held: map[string][]catalog.WriterKey{"a:1": {key("i1", 1)}}, writer: []string{"i1"},
			then:     func(w *world) { w.writers = []catalog.Writer{two[0], writer("i2", 2, "a:7")} },
			warnings: []string{"node i2 epoch 2 unreachable, rows since 1970-01-01T00:01:40Z may be missing"},
		},
		"nobody holds anything": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{writers: x.writers, held: x.held}
			if x.then != nil {
				w.then = func() { x.then(w) }
			}
			r, err := newReader(w, clock.NewFake(time.Unix(0, 0))).Snapshot(context.Background(), fresh.Request{})
			require.NoError(t, err)
			var got []string
			for _, s := range r.Snapshots {
				got = append(got, s.Writer.Node)
			}
			require.ElementsMatch(t, x.writer, got)
			require.Equal(t, x.warnings, r.Warnings)
			if x.asked != nil {
				require.Equal(t, x.asked, w.asked)
			}
		})
	}
}

// TestTheListIsReadAgainWhenItIsOld: concurrent readers share a read; one of up to two seconds ago will do.
func TestTheListIsReadAgainWhenItIsOld(t *testing.T) {
	t.Parallel()
	w := &world{}
	c := clock.NewFake(time.Unix(0, 0))
	r := newReader(w, c)
	read := func() {
		t.Helper()
		_, err := r.Snapshot(context.Background(), fresh.Request{})
		require.NoError(t, err)
	}
	read()
	read()
	c.Advance(2 * time.Second)
	read()
	require.Equal(t, 1, w.lists)
	c.Advance(time.Millisecond)
	read()
	require.Equal(t, 2, w.lists)
	w.err = errors.New("the catalog is away")
	c.Advance(time.Minute)
	_, err := r.Snapshot(context.Background(), fresh.Request{})
	require.ErrorIs(t, err, w.err)
	w.err = nil
	read()
}
