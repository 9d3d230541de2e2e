package query_test

import (
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/signal"
)

// compactor returns one over the store's objects.
func (s *store) compactor() *compactor.Compactor {
	s.t.Helper()
	objects, err := objstore.NewLocal(filepath.Join(s.dir, "objects"))
	require.NoError(s.t, err)
	return compactor.New(compactor.Options{StagingDir: s.t.TempDir()}, compactor.Deps{
		Catalog: s.catalog, Objects: objects, Files: s, Clock: s.clock,
	})
}

// live returns the live segments of a stream by time.
func (s *store) live(of signal.Stream) []catalog.Segment {
	s.t.Helper()
	found, err := s.catalog.EnsureStreams(s.t.Context(), []signal.Stream{of})
	require.NoError(s.t, err)
	snapshot, err := s.catalog.Snapshot(s.t.Context(), catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{found[0].Dataset}, Start: -1 << 62, End: 1 << 62,
	})
	require.NoError(s.t, err)
	return snapshot.Segments
}
