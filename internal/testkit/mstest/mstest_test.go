package mstest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRowsSurviveKillAndRestart(t *testing.T) {
	t.Parallel()
	s := mstest.Start(t, mstest.Config{Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1"}})
	c := s.Client("acme")
	res := c.Post(t, "/api/v1/intake/logs/shop", `[{"n":1},{"n":2}]`)
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	require.Equal(t, [][]any{{json.Number("2")}}, c.Query(t, "SELECT count(*) FROM shop"))

	s.Kill()
	require.False(t, s.Running())
	_, err := c.Ask(t.Context(), "SELECT 1")
	require.Error(t, err)
	require.NoError(t, s.Start(t.Context()))
	require.NoError(t, s.WaitReady(t.Context()))
	require.Equal(t, [][]any{{json.Number("2")}}, c.Query(t, "SELECT count(*) FROM shop"))

	require.NoError(t, s.Restart(t.Context()))
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		if n := c.Query(t, "SELECT count(*) FROM shop")[0][0]; n != json.Number("2") {
			return fmt.Errorf("%v rows", n)
		}
		return nil
	}))
	require.Contains(t, s.Logs(), "msg=ready")
	require.Equal(t, http.StatusOK, s.Client("").Get(t, "/metrics").Status)

	other := s.Client("other")
	_, err = other.Ask(t.Context(), "SELECT count(*) FROM shop")
	var status *mstest.StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, http.StatusNotFound, status.Status)
}
