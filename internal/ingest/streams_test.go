package ingest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/objstore/faultstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// points is a batch of one row for each metric.
func points(names ...string) *signal.Batch {
	b := signal.NewBuilder()
	m := signal.NewMetricBuilder(b)
	for i, name := range names {
		var labels signal.LabelSet
		m.Append(&signal.Sample{Name: []byte(name), Labels: &labels, Nanos: int64(i) * int64(time.Second), Value: 1, HasValue: true})
	}
	return &signal.Batch{Stream: signal.Stream{Org: "t1", Database: signal.DefaultDatabase, Signal: signal.Metrics}, Record: b.Finish()}
}

func maxStreams(n int) func(*ingest.Options) {
	return func(o *ingest.Options) {
		o.MaxStreams = func(org tenant.ID) int {
			if org == "free" {
				return 0
			}
			return n
		}
	}
}

func TestNewStreamsBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t, maxStreams(2))
	write(t, g, batch(stream("a"), 0, 1))
	write(t, g, batch(stream("b"), 0, 1))
	more := batch(stream("c"), 0, 1)
	defer more.Release()
	for range 2 {
		err := g.Write(t.Context(), more)
		require.True(t, fault.Is(err, fault.Limited), "%v", err)
		require.True(t, ingest.IsRefused(err))
		require.Equal(t, limits.StreamLimit, fault.Reason(err))
		require.Equal(t, "stream c would be one more than org t1 may have: it has 2, the limit is 2 (limits.max_global_streams_per_user); "+
			"streams that exist are still written", fault.Message(err))
	}
	write(t, g, batch(stream("a"), 1, 1))
	free := stream("c")
	free.Org = "free"
	write(t, g, batch(free, 0, 1))
	require.EqualValues(t, 2, s.look(t, g, stream("a")).fresh)

	crash(t, g)
	g = s.open(t, maxStreams(2))
	write(t, g, batch(stream("b"), 1, 1)) // known to the catalog, not to this process
	require.True(t, fault.Is(g.Write(t.Context(), more), fault.Limited))
	crash(t, g)
	g = s.open(t, maxStreams(3))
	write(t, g, batch(stream("c"), 0, 1))
	require.NoError(t, g.Close(t.Context()))
}

// TestNewMetricsBesideKnownOnes writes batches of several metrics: rows of those that are there are stored, the others refused.
func TestNewMetricsBesideKnownOnes(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t, maxStreams(2))
	write(t, g, points("a"))
	mixed := points("a", "b", "c", "d", "a", "c")
	defer mixed.Release()
	var refused *signal.RefusedSamples
	require.ErrorAs(t, g.Write(t.Context(), mixed), &refused)
	require.Equal(t, 3, refused.NewStream)
	require.Contains(t, refused.FirstNewStream, "stream c would be one more than org t1 may have")
	m := stream("a")
	m.Signal = signal.Metrics
	require.EqualValues(t, 4, s.look(t, g, m).fresh)

	onlyNew := points("c", "d")
	defer onlyNew.Release()
	require.True(t, fault.Is(g.Write(t.Context(), onlyNew), fault.Limited))
	write(t, g, points("b", "a"))
	require.NoError(t, g.Close(t.Context()))
}

func TestStreamsAtTheSameTimeKeepToTheLimit(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t, maxStreams(5))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			b := batch(stream(string(rune('a'+i))), 0, 1)
			defer b.Release()
			_ = g.Write(context.Background(), b)
		})
	}
	wg.Wait()
	all, err := s.catalog.Streams(t.Context(), "t1")
	require.NoError(t, err)
	require.Len(t, all, 5)
	require.NoError(t, g.Close(t.Context()))
}

// TestProcessesKeepToTheLimitTogether has two processes register streams of one org at the same time: together they have as many as it may
// have, and a row of a known metric beside new ones is stored by both.
func TestProcessesKeepToTheLimitTogether(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	one := s.open(t, maxStreams(9))
	s.dir = t.TempDir() // of the second one's log
	two := s.open(t, maxStreams(9), func(o *ingest.Options) { o.Node = "n2" })
	var wg sync.WaitGroup
	for i := range 24 {
		g, b := []*ingest.Ingest{one, two}[i%2], points("m"+string(rune('a'+i)), "m"+string(rune('b'+i)))
		wg.Go(func() {
			defer b.Release()
			_ = g.Write(context.Background(), b)
		})
	}
	wg.Wait()
	all, err := s.catalog.Streams(t.Context(), "t1")
	require.NoError(t, err)
	require.Len(t, all, 9)
	require.NoError(t, one.Close(t.Context()))
	require.NoError(t, two.Close(t.Context()))
}

// TestOneOrgCannotFillTheBuffers lets one org write until it is refused; another one's rows are taken all the same.
func TestOneOrgCannotFillTheBuffers(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t, func(o *ingest.Options) { o.BufferMemoryMax, o.BufferMaxSize = 1<<20, 1<<30 })
	s.objects.Set(faultstore.Rule{Op: faultstore.Put, Err: faultstore.ErrInjected}) // nothing can be flushed, so that buffers only grow
	flooding, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var err error
	for n := 0; err == nil; n += 1000 {
		b := batch(stream("flood"), n, 1000)
		err = g.Write(flooding, b)
		b.Release()
	}
	quiet := stream("quiet")
	quiet.Org = "t2"
	for n := range 10 {
		write(t, g, batch(quiet, n*100, 100))
	}
	require.EqualValues(t, 1000, s.look(t, g, quiet).fresh)
	crash(t, g)
}
