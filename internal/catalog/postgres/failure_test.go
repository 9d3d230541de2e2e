package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/postgres"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func through(t *testing.T, dsn string, p *proxy) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Host = p.addr()
	return u.String()
}

func stream(t *testing.T, c catalog.Names, name string) catalog.Stream {
	t.Helper()
	s, err := c.EnsureStreams(t.Context(), []signal.Stream{{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Logs, Name: name}})
	require.NoError(t, err)
	return s[0]
}

// round returns a commit of one dataset with one new segment.
func round(ctx context.Context, c catalog.Segments, s catalog.Stream, w catalog.Writer, from uint64) (catalog.Commit, error) {
	id, err := c.NextSegments(ctx, 1)
	if err != nil {
		return catalog.Commit{}, err
	}
	return catalog.Commit{Node: w.Node, Epoch: w.Epoch, Datasets: []catalog.DatasetCommit{{
		Dataset: s.Dataset, From: from, To: from + 1,
		Segments: []catalog.Segment{{ID: id, Dataset: s.Dataset, Org: s.Org, Key: fmt.Sprintf("%s/%d", s.Org, id), Rows: 1}},
	}}}, nil
}

func liveSegments(t *testing.T, c catalog.Segments, s catalog.Stream) []catalog.Segment {
	t.Helper()
	snap, err := c.Snapshot(t.Context(), catalog.SnapshotQuery{Datasets: []catalog.DatasetID{s.Dataset}, Start: -1, End: 1})
	require.NoError(t, err)
	return snap.Segments
}

// TestCommitOfUnknownOutcome cuts the connection around COMMIT, restarts the server and repeats the round.
func TestCommitOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newProxy(t, server.Addr())
	c := open(t, through(t, server.DSN(), p))
	w, err := c.StartWriter(t.Context(), "n", "")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		where   cut
		restart bool
		want    catalog.Outcome
	}{
		"lost before it reached the server":          {onTheWay, false, catalog.Committed},
		"lost after it":                              {onTheBack, false, catalog.Repeated},
		"lost before it, and the server was started": {onTheWay, true, catalog.Committed},
		"lost after it, and the server was started":  {onTheBack, true, catalog.Repeated},
	} {
		s := stream(t, c, name)
		commit, err := round(t.Context(), c, s, w, 0)
		require.NoError(t, err)
		before := p.cuts()
		p.cutNext(test.where)
		_, err = c.Commit(t.Context(), commit)
		require.Equal(t, before+1, p.cuts(), name)
		require.True(t, fault.Is(err, fault.Unavailable), "%s: %v", name, err)
		require.Positive(t, fault.RetryAfter(err))
		if test.restart {
			require.NoError(t, server.Restart(t.Context()))
		}
		results, err := c.Commit(t.Context(), commit)
		require.NoError(t, err, name)
		require.Equal(t, []catalog.CommitResult{{Outcome: test.want, Current: 1}}, results, name)
		segments := liveSegments(t, c, s)
		require.Len(t, segments, 1, "%s: one set of segments", name)
		require.Equal(t, commit.Datasets[0].Segments[0].ID, segments[0].ID)
	}
}

// TestReplaceOfUnknownOutcome is why a repeated replacement succeeds: the caller must not drop files that are live.
func TestReplaceOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newProxy(t, server.Addr())
	c := open(t, through(t, server.DSN(), p))
	w, err := c.StartWriter(t.Context(), "n", "")
	require.NoError(t, err)
	s := stream(t, c, "s")
	commit, err := round(t.Context(), c, s, w, 0)
	require.NoError(t, err)
	_, err = c.Commit(t.Context(), commit)
	require.NoError(t, err)
	merged, err := round(t.Context(), c, s, w, 0) // for its segment
	require.NoError(t, err)
	added := merged.Datasets[0].Segments
	p.cutNext(onTheBack)
	err = c.Replace(t.Context(), s.Dataset, []catalog.SegmentID{commit.Datasets[0].Segments[0].ID}, added)
	require.True(t, fault.Is(err, fault.Unavailable), err)
	require.NoError(t, c.Replace(t.Context(), s.Dataset, []catalog.SegmentID{commit.Datasets[0].Segments[0].ID}, added))
	require.Equal(t, added[0].ID, liveSegments(t, c, s)[0].ID)
}

// TestServerIsKilledUnderLoad kills the server again and again while nodes commit. Each node repeats a round until it has an answer.
func TestServerIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	const nodes, kills, between = 4, 3, 20
	server := pgtest.Start(t)
	c := open(t, server.DSN())
	s := stream(t, c, "s")
	var (
		wait     sync.WaitGroup
		rounds   atomic.Int64
		progress = make(chan struct{})
		stop     = make(chan struct{})
		end      = sync.OnceFunc(func() { close(stop) })
	)
	defer wait.Wait()
	defer end()
	for i := range nodes {
		w, err := c.StartWriter(t.Context(), fmt.Sprintf("n%d", i), "")
		require.NoError(t, err)
		wait.Go(func() {
			for r := uint64(0); ; r++ {
				commitUntilKnown(t, c, s, w, r)
				rounds.Add(1)
				select {
				case <-stop:
					return
				case progress <- struct{}{}:
				default: // nobody counts while the server starts
				}
			}
		})
	}
	for range kills {
		for range between {
			<-progress
		}
		server.Kill()
		require.NoError(t, server.Start(t.Context()))
	}
	end()
	wait.Wait()
	require.Len(t, liveSegments(t, c, s), int(rounds.Load()), "each range has one set of segments")
	require.NoError(t, c.Ping(t.Context()))
}

// commitUntilKnown commits one range, with the same segments however often it must ask.
func commitUntilKnown(t *testing.T, c *postgres.Catalog, s catalog.Stream, w catalog.Writer, from uint64) {
	t.Helper()
	var commit catalog.Commit
	for {
		var err error
		if commit.Node == "" {
			commit, err = round(t.Context(), c, s, w, from)
		}
		if err == nil {
			var results []catalog.CommitResult
			results, err = c.Commit(t.Context(), commit)
			if err == nil {
				if got := results[0]; got.Current != from+1 || got.Outcome > catalog.Repeated {
					t.Errorf("%s round %d: %v", w.Node, from, got)
				}
				return
			}
		}
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s round %d: %v", w.Node, from, err)
			return
		}
	}
}

func TestOpenWithoutServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	c := open(t, server.DSN())
	server.Stop()
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: server.DSN()})
	require.True(t, fault.Is(err, fault.Unavailable), err)
	_, err = c.Writers(t.Context())
	require.True(t, fault.Is(err, fault.Unavailable), err)
	require.NotContains(t, err.Error(), password(t, server.DSN()))
	require.NoError(t, server.Start(t.Context()))
	_, err = c.Writers(t.Context())
	require.NoError(t, err, "the pool is not broken for good")
	_, err = postgres.Open(t.Context(), postgres.Options{DSN: "postgres://u:s3cret@[bad"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret")
}

func password(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	secret, _ := u.User.Password()
	require.NotEmpty(t, secret)
	return secret
}

func TestContextEndsAWait(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	c := open(t, dsn)
	other, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "BEGIN; UPDATE counters SET value = value")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.StartWriter(ctx, "n", "")
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, other.Close(context.WithoutCancel(t.Context())))
	_, err = c.StartWriter(t.Context(), "n", "")
	require.NoError(t, err)
}

func TestLockTimeoutIsUnavailable(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	c := open(t, dsn+"&lock_timeout=20ms")
	other, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "BEGIN; UPDATE counters SET value = value")
	require.NoError(t, err)
	_, err = c.StartWriter(t.Context(), "n", "")
	require.True(t, fault.Is(err, fault.Unavailable), err)
	require.NoError(t, other.Close(t.Context()))
}
