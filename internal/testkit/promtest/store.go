package promtest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/filecache"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// Org is whose metrics a test writes that needs one org alone.
const Org tenant.ID = "t1"

// Store is ingest, catalog, objects and promstore on a directory of the test.
type Store struct {
	Catalog *sqlite.Catalog
	Objects *objstore.Local
	Ingest  *ingest.Ingest
	Prom    *promstore.Store
	Files   *filecache.Cache

	dir   string
	known *promwrite.Known
}

// New starts a store, which ends with the test or by Close. Nothing is flushed by itself.
func New(t testing.TB) *Store {
	t.Helper()
	s := &Store{dir: t.TempDir(), known: promwrite.NewKnown(promwrite.DefaultKnownBytes)}
	require.NoError(t, s.start(t.Context()))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (s *Store) start(ctx context.Context) (err error) {
	if s.Catalog, err = sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(s.dir, "catalog.db")}); err != nil {
		return err
	}
	if s.Objects, err = objstore.NewLocal(filepath.Join(s.dir, "objects")); err != nil {
		return err
	}
	s.Files, err = filecache.New(filecache.Options{Dir: filepath.Join(s.dir, "cache"), MaxBytes: 1 << 30}, s.Objects, nil)
	if err != nil {
		return err
	}
	s.Ingest = ingest.New(ingest.Options{
		Node: "n1", StagingDir: s.dir, FlushInterval: time.Hour, WAL: wal.Options{Dir: filepath.Join(s.dir, "wal"), ReserveSize: -1},
	}, ingest.Deps{Catalog: s.Catalog, Objects: s.Objects})
	s.Prom = promstore.New(promstore.Options{}, promstore.Deps{
		Catalog: s.Catalog, Buffers: s.Ingest, Files: s.Files, Clock: clock.System{},
	})
	return s.Ingest.Start(ctx)
}

// Close ends the store as a kill would: nothing is flushed. It is idempotent.
func (s *Store) Close() error {
	if s.Ingest == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.Ingest.Close(ctx)
	s.Ingest = nil
	if e := s.Catalog.Close(); err == nil {
		err = e
	}
	return err
}

// Restart ends the store as a kill would and starts it again.
func (s *Store) Restart(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Close())
	require.NoError(t, s.start(t.Context()))
}

// Flush writes all rows into files.
func (s *Store) Flush(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Ingest.Flush(t.Context()))
}

// Merge merges all files of a day, as the compactor does once their days are over.
func (s *Store) Merge(t testing.TB) {
	t.Helper()
	c := compactor.New(compactor.Options{StagingDir: s.dir}, compactor.Deps{
		Catalog: s.Catalog, Objects: s.Objects, Files: s.Files, Clock: clock.NewFake(time.Now().AddDate(1, 0, 0)),
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, c.Compact(t.Context()))
	require.NoError(t, c.Seal(t.Context())) // rows of closed days
}

// Write stores a remote write request of Org, not compressed, in the default database.
func (s *Store) Write(ctx context.Context, body []byte, version promwrite.Version) (promwrite.Result, error) {
	return s.WriteAs(ctx, Org, body, version)
}

// WriteAs is Write for another org.
func (s *Store) WriteAs(ctx context.Context, org tenant.ID, body []byte, version promwrite.Version) (promwrite.Result, error) {
	stream := signal.Stream{Org: org, Database: signal.DefaultDatabase, Signal: signal.Metrics}
	return s.known.Decode(body, version, stream, wire.Options{ReceivedAt: time.Now()}, func(b *signal.Batch) error {
		defer b.Release()
		return s.Ingest.Write(ctx, b)
	})
}

// Queryable returns what PromQL sees.
func (s *Store) Queryable() storage.Queryable { return s.Prom.Queryable(Org, signal.DefaultDatabase) }

// Dir returns the folder of the store's files.
func (s *Store) Dir() string { return s.dir }
