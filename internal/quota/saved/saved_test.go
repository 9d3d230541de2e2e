package saved_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/saved"
)

var logs = quota.Database{Org: "acme", Name: "logs"}

// process is one run over a data directory.
type process struct {
	rows     *quota.Rows
	recorder *saved.Recorder
	stop     func()
}

func startProcess(t *testing.T, path string) process {
	t.Helper()
	var p process
	p.rows = quota.NewRows(quota.RowsOptions{
		Clock: clock.System{}, Owing: func() { p.recorder.Soon() },
		Limit: func(quota.Database) quota.RowLimit { return quota.RowLimit{PerSecond: 1000} },
	})
	state, err := saved.Read(path)
	require.NoError(t, err)
	p.rows.Restore(state.Tokens, time.Now(), !state.Clean)
	p.recorder = saved.NewRecorder(saved.Recorder{
		Path: path, Buckets: p.rows, Now: func() time.Time { return time.Now().UTC() }, Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.recorder.Run(ctx) }()
	synctest.Wait()
	p.stop = func() { cancel(); require.NoError(t, <-done) }
	return p
}

func (p process) admit(t *testing.T, rows int64) bool {
	t.Helper()
	return p.rows.Admit(t.Context(), quota.Charge{Database: logs, Rows: rows}) == nil
}

func TestDebtsSurviveRestartsAndCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "quota.json")
		p := startProcess(t, path)
		require.True(t, p.admit(t, 11_000), "a first start begins with a full bucket")
		time.Sleep(time.Second)
		p.stop()
		require.NoError(t, p.recorder.Close())

		time.Sleep(time.Second)
		p = startProcess(t, path) // owes 8000
		require.False(t, p.admit(t, 1))
		time.Sleep(8 * time.Second)
		require.False(t, p.admit(t, 1))
		time.Sleep(time.Millisecond)
		require.True(t, p.admit(t, 5000))
		synctest.Wait() // a large debt is written at once
		p.stop()        // a crash: no last word

		p = startProcess(t, path)
		require.False(t, p.admit(t, 1))
		time.Sleep(4999 * time.Millisecond)
		require.False(t, p.admit(t, 1))
		time.Sleep(2 * time.Millisecond)
		require.True(t, p.admit(t, 1))
		time.Sleep(10 * time.Second)
		p.stop() // another crash, with nothing spent for long

		p = startProcess(t, path)
		require.False(t, p.admit(t, 1), "what was spent in the last second is not known")
		time.Sleep(time.Millisecond)
		require.True(t, p.admit(t, 1))
		p.stop()
	})
}

func TestAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quota.json")
	for _, text := range []string{"", "{", `{"version":2}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		state, err := saved.Read(path)
		require.Error(t, err)
		require.False(t, state.Clean)
		require.Empty(t, state.Tokens)
	}
	require.NoError(t, saved.Write(path, saved.State{Clean: true, Tokens: map[quota.Database]quota.Tokens{logs: {Limit: 5, Tokens: -7}}}))
	state, err := saved.Read(path)
	require.NoError(t, err)
	require.Equal(t, saved.State{Clean: true, Tokens: map[quota.Database]quota.Tokens{logs: {Limit: 5, Tokens: -7}}}, state)
	require.Error(t, saved.Write(filepath.Join(path, "below"), saved.State{}))
}
