package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/wal"
)

// listed returns the epochs that the catalog lists.
func (s *store) listed(t *testing.T) (epochs []int64) {
	t.Helper()
	writers, err := s.catalog.Writers(context.Background())
	require.NoError(t, err)
	for _, w := range writers {
		epochs = append(epochs, w.Epoch)
	}
	return epochs
}

// settle runs the component until what has ended is off the list.
func settle(t *testing.T, g *ingest.Ingest, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	require.Eventually(t, done, 10*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

func often(o *ingest.Options) { o.FlushInterval = 20 * time.Millisecond }

// TestALostVolumeStaysListed: a node that comes back on an empty volume does not take the missing rows of its last epoch off the list;
// with the old volume they come back.
func TestALostVolumeStaysListed(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	of := stream("app")
	g := s.open(t)
	write(t, g, batch(of, 0, 5))
	lost := g.Writer().Epoch
	crash(t, g)

	empty := func(o *ingest.Options) { o.WAL.Dir = filepath.Join(s.dir, "another") }
	g = s.open(t, often, empty)
	settle(t, g, func() bool { return len(s.listed(t)) == 2 })
	require.Contains(t, s.listed(t), lost)
	crash(t, g)

	g = s.open(t, often)
	defer crash(t, g)
	settle(t, g, func() bool { return s.look(t, g, of).stored == 5 && len(s.listed(t)) == 2 })
	require.NotContains(t, s.listed(t), lost)
}

// TestAnEpochWithoutRowsEnds: everything was flushed, so the log has nothing of the epoch; the volume knows it nevertheless.
func TestAnEpochWithoutRowsEnds(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	crash(t, g)
	g = s.open(t, often)
	defer crash(t, g)
	settle(t, g, func() bool { return len(s.listed(t)) == 1 })
	require.Equal(t, []int64{g.Writer().Epoch}, s.listed(t))
}

// losingCatalog draws epochs and loses the answers.
type losingCatalog struct{ ingest.Catalog }

func (c losingCatalog) StartWriter(ctx context.Context, node, address string) (catalog.Writer, error) {
	if _, err := c.Catalog.StartWriter(ctx, node, address); err != nil {
		return catalog.Writer{}, err
	}
	return catalog.Writer{}, errors.New("the answer is lost")
}

// TestADrawOfUnknownOutcomeEnds: an epoch that was drawn and not noted, twice, is ended by the next start.
func TestADrawOfUnknownOutcomeEnds(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	for range 2 {
		g := ingest.New(ingest.Options{
			Node: "n1", StagingDir: s.dir, WAL: wal.Options{Dir: filepath.Join(s.dir, "wal"), ReserveSize: -1},
		}, ingest.Deps{Catalog: losingCatalog{s.catalog}, Objects: s.objects})
		require.ErrorContains(t, g.Start(context.Background()), "the answer is lost")
	}
	require.Len(t, s.listed(t), 2)
	g := s.open(t, often)
	defer crash(t, g)
	settle(t, g, func() bool { return len(s.listed(t)) == 1 })
}

func TestADamagedVolumeFileIsNamed(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	dir := filepath.Join(s.dir, "wal")
	require.NoError(t, os.MkdirAll(dir, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "epochs"), []byte("epoch 1\nhm\n"), 0o600))
	g := ingest.New(ingest.Options{Node: "n1", StagingDir: s.dir, WAL: wal.Options{Dir: dir}},
		ingest.Deps{Catalog: s.catalog, Objects: s.objects})
	require.ErrorContains(t, g.Start(context.Background()), `"hm" is no line of it`)
}
