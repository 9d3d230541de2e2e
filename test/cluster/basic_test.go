package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestRowsAreVisibleAtOnceOnEveryRouter(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, mscluster.Split())
	for i, r := range c.Routers {
		res := r.Client("t1").Post(t, "/api/v1/intake/logs/app", `[{"m":"a"},{"m":"b"}]`)
		require.Equal(t, 200, res.Status, "%s", res.Body)
		for _, other := range c.Routers {
			rows := other.Client("t1").Query(t, "SELECT count(*) FROM app")
			require.Equal(t, "[["+string(rune('0'+2*(i+1)))+"]]", jsonOf(t, rows))
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// statusOf returns the answer that an error of Ask stands for.
func statusOf(t *testing.T, err error) *mstest.StatusError {
	t.Helper()
	var status *mstest.StatusError
	require.ErrorAs(t, err, &status)
	return status
}

// eventually repeats a question until it is answered without warnings.
func eventually(t *testing.T, client mstest.Client, statement string) (rows [][]any) {
	t.Helper()
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		a, err := client.Ask(ctx, statement)
		if err == nil && len(a.Warnings) > 0 {
			err = fmt.Errorf("incomplete: %q", a.Warnings)
		}
		rows = a.Rows
		return err
	}))
	return rows
}
