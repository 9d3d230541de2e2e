package duck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

func TestOptionsReportEveryFault(t *testing.T) {
	t.Parallel()
	_, err := duck.NewPool(duck.Options{WarmInstances: -1, TempMaxSize: -1}, nil, nil)
	require.True(t, fault.Is(err, fault.Invalid))
	for _, part := range []string{"concurrency", "warm", "memory", "temp size", "temp directory"} {
		require.ErrorContains(t, err, part)
	}
}

// Many goroutines of a few orgs take and give back instances, some cancel, some fail: never more than Concurrency at once, never more than
// WarmInstances idle, and nothing is left.
func TestAcquireReleaseCycles(t *testing.T) {
	t.Parallel()
	const workers, cycles, concurrency, warm = 8, 125, 3, 2
	dir := t.TempDir()
	reg := prometheus.NewPedanticRegistry()
	p, err := duck.NewPool(duck.Options{
		Concurrency: concurrency, WarmInstances: warm, MemoryLimit: 256 << 20, TempDir: dir, Threads: 1,
	}, nil, reg)
	require.NoError(t, err)
	var running, most atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for c := range cycles {
				if err := cycle(p, w, c, &running, &most); err != nil {
					t.Errorf("worker %d, cycle %d: %s", w, c, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(concurrency))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), warm+1, "idle instances and the parser's")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	entries, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = p.Acquire(context.Background(), "a")
	require.ErrorIs(t, err, duck.ErrClosed)
	n, err := testutil.GatherAndCount(reg)
	require.NoError(t, err)
	require.Equal(t, 4, n)
}

func cycle(p *duck.Pool, worker, round int, running, most *atomic.Int64) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	org := tenant.ID(fmt.Sprintf("org%d", worker%3))
	if round%7 == 0 {
		cancel()
	}
	i, err := p.Acquire(ctx, org)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	defer i.Release()
	n := running.Add(1)
	defer running.Add(-1)
	for m := most.Load(); n > m; m = most.Load() {
		if most.CompareAndSwap(m, n) {
			break
		}
	}
	switch round % 5 {
	case 1: // stays open and is released with its rows
		rows, err := i.Query(ctx, "SELECT * FROM range(100000)")
		if err != nil {
			return ignoreCanceled(err)
		}
		_, err = rows.Next(ctx)
		return ignoreCanceled(err)
	case 2:
		_, _, err = read(ctx, i, "SELECT nothing")
		if err == nil {
			return errors.New("no error")
		}
		return nil
	default:
		_, _, err = read(ctx, i, "SELECT count(*) FROM range(1000)")
		return ignoreCanceled(err)
	}
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func TestWaitingForAPlaceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *duck.Options) { o.Concurrency = 1 })
	i := acquire(t, p, "a")
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() {
		_, err := p.Acquire(ctx, "b")
		errs <- err
	}()
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	i.Release()
	acquire(t, p, "b").Release()
}

func TestCloseInterruptsRunningStatements(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil)
	i, err := p.Acquire(t.Context(), "a")
	require.NoError(t, err)
	rows, err := i.Query(t.Context(), "SELECT * FROM range(1000000000000)")
	require.NoError(t, err)
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	for err == nil {
		b, nextErr := rows.Next(t.Context())
		if err = nextErr; err == nil {
			b.Release()
		}
	}
	require.ErrorIs(t, err, duck.ErrClosed)
	i.Release()
	require.NoError(t, <-closed)
}
