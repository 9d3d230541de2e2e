// Package cluster_test drives clusters of real processes, one a role, over a real PostgreSQL and a real S3 server.
package cluster_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
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
