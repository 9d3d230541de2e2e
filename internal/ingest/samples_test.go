package ingest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
)

// reading is one sample of a series called m.
type reading struct {
	series  string
	seconds int64
	value   float64
}

func ordered(readings ...reading) *signal.Batch {
	b := signal.NewBuilder()
	m := signal.NewMetricBuilder(b)
	for _, r := range readings {
		var labels signal.LabelSet
		labels.Add([]byte("s"), []byte(r.series))
		m.Append(&signal.Sample{Name: []byte("m"), Labels: &labels, Nanos: r.seconds * int64(time.Second), Value: r.value, HasValue: true})
	}
	s := signal.Stream{Org: "t1", Database: signal.DefaultDatabase, Signal: signal.Metrics}
	return &signal.Batch{Stream: s, Record: b.Finish(), Ordered: true}
}

func TestSamplesThatASeriesHasAlready(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	m := stream("m")
	m.Signal = signal.Metrics
	write := func(readings ...reading) *signal.RefusedSamples {
		b := ordered(readings...)
		defer b.Release()
		err := g.Write(context.Background(), b)
		refused := &signal.RefusedSamples{}
		if err != nil {
			require.ErrorAs(t, err, &refused)
		}
		return refused
	}
	rows := func() int64 { return s.look(t, g, m).fresh }

	require.Zero(t, write(reading{"a", 10_000, 1}, reading{"b", 10_000, 1}, reading{"a", 10_001, 2}).Rows())
	require.EqualValues(t, 3, rows())
	require.Zero(t, write(reading{"a", 10_001, 2}).Rows(), "an equal one is dropped without a word")
	require.EqualValues(t, 3, rows())

	refused := write(
		reading{"a", 10_001, 3},         // another value
		reading{"a", 10_001 - 3600, 4},  // an hour back: in the window
		reading{"a", 10_001 - 3601, 5},  // before it
		reading{"c", 10_001 - 50000, 6}, // of a series that has none
		reading{"b", 10_000, 1},         // equal
		reading{"b", 10_002, 1}, reading{"b", 10_002, 1}, reading{"b", 10_002, 9},
	)
	require.Equal(t, 2, refused.Duplicate)
	require.Equal(t, 1, refused.TooOld)
	require.Contains(t, refused.FirstDuplicate, `series m{"s":"a"} at 1970-01-01T02:46:41Z`)
	require.Contains(t, refused.Error(), "1 too old like")
	require.EqualValues(t, 6, rows())

	old := ordered(reading{"a", 10_001 - 7200, 5}, reading{"a", 10_001 - 7201, 6})
	defer old.Release()
	old.Backfill = true
	require.NoError(t, g.Write(context.Background(), old), "what was recorded elsewhere may be of any age")
	require.EqualValues(t, 8, rows())
	require.NoError(t, g.Write(context.Background(), old))
	require.EqualValues(t, 8, rows(), "and is stored once when it is sent again")

	again := []reading{{"d", 100, 1}, {"d", 115, 2}, {"d", 130, 3}}
	require.Zero(t, write(again...).Rows())
	require.Zero(t, write(again...).Rows(), "a request that is sent again is stored once")
	require.EqualValues(t, 11, rows())

	require.NoError(t, g.Close(t.Context()))
}

func TestARefusedWriteIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := ordered(reading{"a", 1, 1})
	defer b.Release()
	require.ErrorIs(t, g.Write(ctx, b), context.Canceled, "the outcome is unknown to the sender")
	require.NoError(t, g.Write(t.Context(), b), "who sends it again is not told that it is there")
	require.NoError(t, g.Close(t.Context()))
}
