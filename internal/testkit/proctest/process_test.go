package proctest_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProcessEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*proctest.Process){"stop": (*proctest.Process).Stop, "kill": (*proctest.Process).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := proctest.Start(t.Context(), proctest.Config{
				Path: "/bin/sh", Args: []string{"-c", "exec sleep 600"}, LogPath: filepath.Join(t.TempDir(), "log"),
				Ready: func(context.Context) error { return nil },
			})
			require.NoError(t, err)
			require.Positive(t, p.PID())
			end(p)
			<-p.Exited()
			end(p) // ending twice is harmless
		})
	}
}

func TestProcessThatEndsEarlyShowsItsLog(t *testing.T) {
	t.Parallel()
	_, err := proctest.Start(t.Context(), proctest.Config{
		Path: "/bin/sh", Args: []string{"-c", "echo the disk is on fire; exit 3"}, LogPath: filepath.Join(t.TempDir(), "log"),
		Ready: func(context.Context) error { return errors.New("not yet") },
	})
	require.ErrorContains(t, err, "the disk is on fire")
}

func TestFreePortIsBelowTheEphemeralRange(t *testing.T) {
	t.Parallel()
	port, err := proctest.FreePort()
	require.NoError(t, err)
	require.Less(t, port, 32768)
}
