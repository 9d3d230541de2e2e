package s3test_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/s3test"
)

func TestServerStopsAndStartsOnItsAddress(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t)
	endpoint := s.Endpoint
	require.Equal(t, http.StatusForbidden, status(t.Context(), t, s))

	s.Stop()
	s.Stop() // stopping twice is harmless
	require.NoError(t, s.Start(t.Context()))
	require.Equal(t, endpoint, s.Endpoint)

	s.Kill()
	require.NoError(t, s.Start(t.Context()))
	require.Equal(t, http.StatusForbidden, status(t.Context(), t, s))
	require.Error(t, s.Start(t.Context()), "it is running")
}

// status returns what an anonymous listing of the bucket is answered.
func status(ctx context.Context, t *testing.T, s *s3test.Server) int {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Endpoint+"/"+s.Bucket, http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// TestLaunchInARelativeFolder starts a server in a folder that is named from here: the server itself goes elsewhere.
func TestLaunchInARelativeFolder(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir, err := filepath.Rel(here, t.TempDir())
	require.NoError(t, err)
	s, err := s3test.Launch(t.Context(), dir)
	if errors.Is(err, s3test.ErrNotBuilt) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	s.Stop()
}
