package wal_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/wal"
)

func TestLogSurvivesRestart(t *testing.T) {
	t.Parallel()
	opts := wal.Options{Dir: t.TempDir() + "/wal", Node: "n1", Epoch: 7}
	reg := prometheus.NewRegistry()
	l, err := wal.Open(opts, wal.Deps{Registerer: reg})
	require.NoError(t, err)
	_, err = wal.Open(opts, wal.Deps{Registerer: prometheus.NewRegistry()})
	require.ErrorIs(t, err, wal.ErrLocked)
	key := wal.Key{Dataset: 1, Node: "n1", Epoch: 7}
	lsn, err := l.Enqueue(wal.Record{Key: key, Seq: 3, Payload: []byte("rows")})
	require.NoError(t, err)
	require.NoError(t, l.Wait(context.Background(), lsn))
	require.Equal(t, lsn, l.Durable())
	require.Positive(t, metric(t, reg, "millstream_wal_bytes_written_total"))
	require.InDelta(t, l.Stats().SizeBytes, metric(t, reg, "millstream_wal_size_bytes"), 0)
	require.NoError(t, l.Close())

	l, err = wal.Open(opts, wal.Deps{Registerer: reg})
	require.NoError(t, err)
	_, err = l.Enqueue(wal.Record{Key: key, Seq: 4})
	require.ErrorIs(t, err, wal.ErrNotReplayed)
	var got []wal.Record
	report, err := l.Replay(context.Background(), func(r wal.Record) error {
		r.Payload = append([]byte(nil), r.Payload...)
		got = append(got, r)
		return nil
	}, nil)
	require.NoError(t, err)
	require.True(t, report.Clean())
	require.Equal(t, []wal.Record{{Key: key, Seq: 3, Payload: []byte("rows")}}, got)
	l.Release(key, 3)
	require.Zero(t, l.Stats().Segments)
	require.NoError(t, l.Close())
}
