package ingest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/signal"
)

func identified(s signal.Stream, first, rows int, id signal.BatchID) *signal.Batch {
	b := batch(s, first, rows)
	b.ID = id
	return b
}

func TestABatchSentTwiceIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	of := stream("app")
	id := signal.BatchID{Origin: 7, Number: 1}
	g := s.open(t)
	write(t, g, identified(of, 0, 3, id))
	write(t, g, identified(of, 0, 3, id))
	require.EqualValues(t, 3, s.look(t, g, of).fresh)
	write(t, g, identified(of, 3, 2, signal.BatchID{Origin: 7, Number: 2}))
	write(t, g, identified(of, 5, 1, signal.BatchID{Origin: 8, Number: 1}))
	require.EqualValues(t, 6, s.look(t, g, of).fresh)

	crash(t, g)
	g = s.open(t)
	defer crash(t, g)
	write(t, g, identified(of, 0, 3, id)) // known from the log
	require.EqualValues(t, 6, s.look(t, g, of).fresh)
}

func TestSendersOfOneBatchAtOnceStoreItOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	of := stream("app")
	g := s.open(t)
	defer crash(t, g)
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() {
			b := identified(of, 0, 5, signal.BatchID{Origin: 1, Number: 1})
			defer b.Release()
			errs[i] = g.Write(context.Background(), b)
		})
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.EqualValues(t, 5, s.look(t, g, of).fresh)
}

func TestARefusedBatchMayComeAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	defer crash(t, g)
	of := stream("app")
	of.Database = "later"
	b := identified(of, 0, 4, signal.BatchID{Origin: 1, Number: 1})
	defer b.Release()
	err := g.Write(context.Background(), b)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.True(t, ingest.IsRefused(err))
	_, err = s.catalog.CreateDatabase(context.Background(), of.Org, of.Database, nil)
	require.NoError(t, err)
	require.NoError(t, g.Write(context.Background(), b))
	require.EqualValues(t, 4, s.look(t, g, of).fresh)
}

func TestAnOriginIsRememberedForItsLastBatches(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	defer crash(t, g)
	of := stream("app")
	const sent = 1100 // more than the window holds
	for i := range sent {
		write(t, g, identified(of, i, 1, signal.BatchID{Origin: 1, Number: uint64(i)}))
	}
	write(t, g, identified(of, 0, 1, signal.BatchID{Origin: 1, Number: sent - 1}))
	write(t, g, identified(of, 0, 1, signal.BatchID{Origin: 1, Number: sent - 1024}))
	require.EqualValues(t, sent, s.look(t, g, of).fresh)
}
