package compactor_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// rig is a catalog and an object store on one fake clock.
type rig struct {
	*testing.T
	clock   *clock.Fake
	catalog *sqlite.Catalog
	objects *objstore.Memory
	writer  catalog.Writer
	seq     map[catalog.DatasetID]uint64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, clock: clock.NewFake(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)), seq: map[catalog.DatasetID]uint64{}}
	var err error
	r.catalog, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "c.db"), Clock: r.clock})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.catalog.Close() })
	r.objects = objstore.NewMemory(r.clock)
	r.writer, err = r.catalog.StartWriter(t.Context(), "n1", "")
	require.NoError(t, err)
	return r
}

func (r *rig) compactor(retention time.Duration) *compactor.Compactor {
	return compactor.New(compactor.Options{Retention: func(tenant.ID) time.Duration { return retention }},
		compactor.Deps{Catalog: r.catalog, Objects: r.objects, Clock: r.clock, Logger: discard()})
}

func (r *rig) put(key string) {
	data := []byte("x")
	require.NoError(r, r.objects.Put(r.Context(), key, bytes.NewReader(data), 1))
}

// segment registers one segment of a stream whose rows have the given age, and returns its object key.
func (r *rig) segment(s signal.Stream, age time.Duration) string {
	ctx := r.Context()
	streams, err := r.catalog.EnsureStreams(ctx, []signal.Stream{s})
	require.NoError(r, err)
	id, err := r.catalog.NextSegments(ctx, 1)
	require.NoError(r, err)
	at := r.clock.Now().Add(-age).UnixMicro()
	key := string(s.Org) + "/" + s.Name + "/" + age.String()
	r.put(key)
	d := streams[0].Dataset
	results, err := r.catalog.Commit(ctx, catalog.Commit{Node: r.writer.Node, Epoch: r.writer.Epoch, Datasets: []catalog.DatasetCommit{{
		Dataset: d, From: r.seq[d], To: r.seq[d] + 1,
		Segments: []catalog.Segment{{
			ID: id, Dataset: d, Org: s.Org, Key: key, Rows: 1, MinTime: at, MaxTime: at, Partition: catalog.Partition{Unit: catalog.Day, Start: at},
		}},
	}}})
	require.NoError(r, err)
	require.Equal(r, catalog.Committed, results[0].Outcome)
	r.seq[d]++
	return key
}

func (r *rig) has(key string) bool {
	_, err := r.objects.Stat(context.Background(), key)
	return err == nil
}

func logs(org tenant.ID, name string) signal.Stream {
	return signal.Stream{Org: org, Database: signal.DefaultDatabase, Signal: signal.Logs, Name: name}
}

const day = 24 * time.Hour

// TestRetention is case K04 of the public reports: a short rule for one stream takes nothing of others, and the shortest rule wins.
func TestRetention(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var kept, gone []string
	for _, org := range []tenant.ID{"t1", "t2"} {
		for _, age := range []time.Duration{time.Hour, 2 * day, 400 * day} {
			for _, name := range []string{"dbg", "app"} {
				key := r.segment(logs(org, name), age)
				if org == "t1" && (age == 400*day || (name == "dbg" && age == 2*day)) {
					gone = append(gone, key)
				} else {
					kept = append(kept, key)
				}
			}
		}
	}
	value := "1d"
	_, err := r.catalog.AlterStream(t.Context(), logs("t1", "dbg"), map[string]*string{"retention": &value})
	require.NoError(t, err)
	year := "365d"
	_, err = r.catalog.AlterDatabase(t.Context(), "t1", signal.DefaultDatabase, map[string]*string{"retention": &year})
	require.NoError(t, err)

	c := r.compactor(0)
	require.NoError(t, c.Expire(t.Context()))
	require.NoError(t, c.Delete(t.Context()))
	for _, key := range append(kept, gone...) {
		require.True(t, r.has(key), "objects outlive running queries")
	}
	r.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	require.NoError(t, c.Delete(t.Context()))
	for _, key := range kept {
		require.True(t, r.has(key), key)
	}
	for _, key := range gone {
		require.False(t, r.has(key), key)
	}
	require.NoError(t, c.Delete(t.Context()), "again")
}

// TestSweep is the cleaner's part of case K06: leftovers go after the grace, registered objects and young ones never.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	registered := r.segment(logs("t1", "app"), time.Hour)
	r.put("t1/logs/leftover.parquet")
	r.clock.Advance(compactor.DefaultOrphanGrace)
	r.put("t1/logs/young.parquet")
	r.clock.Advance(time.Second)
	for range 2 {
		require.NoError(t, r.compactor(0).Reconcile(t.Context()))
		require.True(t, r.has(registered))
		require.True(t, r.has("t1/logs/young.parquet"))
		require.False(t, r.has("t1/logs/leftover.parquet"))
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
