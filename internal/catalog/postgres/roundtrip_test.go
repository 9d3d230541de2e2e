package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/postgres"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

// TestRoundTripsDoNotGrow checks that neither the width of a round nor the number of segments adds round trips.
func TestRoundTripsDoNotGrow(t *testing.T) {
	t.Parallel()
	c, trips := postgres.OpenCounted(t, pgtest.DSN(t))
	const n = 200
	wanted := make([]signal.Stream, n)
	for i := range wanted {
		wanted[i] = signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Logs, Name: fmt.Sprintf("s%d", i)}
	}
	count := func(what string, statements, batches int64, run func()) {
		trips.Reset()
		run()
		require.Equal(t, []int64{statements, batches}, []int64{trips.Statements.Load(), trips.Batches.Load()}, what)
	}
	var streams []catalog.Stream
	ensure := func() {
		var err error
		streams, err = c.EnsureStreams(t.Context(), wanted)
		require.NoError(t, err)
	}
	ensure() // prepares the statements and connects
	count("known streams", 1, 0, ensure)

	commit := catalog.Commit{Node: "n", Epoch: 1}
	q := catalog.SnapshotQuery{Start: -1, End: 1}
	first, err := c.NextSegments(t.Context(), n)
	require.NoError(t, err)
	for i, s := range streams {
		columns, err := c.ReserveColumns(t.Context(), s.ID, []string{"a"})
		require.NoError(t, err)
		id := first + catalog.SegmentID(i)
		commit.Datasets = append(commit.Datasets, catalog.DatasetCommit{
			Dataset: s.Dataset, To: 1,
			Segments: []catalog.Segment{{ID: id, Dataset: s.Dataset, Org: s.Org, Key: fmt.Sprint(id)}},
			Columns:  []catalog.PublishedColumns{{Stream: s.ID, Columns: map[catalog.ColumnID]signal.TypeSet{columns[0].ID: 2}}},
		})
		q.Datasets, q.Streams = append(q.Datasets, s.Dataset), append(q.Streams, s.ID)
	}
	count("a commit", 2, 2, func() { // begin and commit; lock and read, write
		_, err := c.Commit(t.Context(), commit)
		require.NoError(t, err)
	})
	count("a repeated commit", 2, 1, func() {
		_, err := c.Commit(t.Context(), commit)
		require.NoError(t, err)
	})
	count("a snapshot", 2, 1, func() {
		s, err := c.Snapshot(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, s.Segments, n)
	})
}
