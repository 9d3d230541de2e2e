package cluster_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// lazily keeps rows in memory until a process stops.
func lazily(l mscluster.Layout) mscluster.Layout {
	l.Env = map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "3600"}
	return l
}

// TestRolesFailApart takes the roles away one after the other.
func TestRolesFailApart(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 2, Queriers: 2, Compactors: 1, Alerts: 1}))
	client := c.Routers[0].Client("t1")
	post := func(body string) mstest.Response {
		return client.Post(t, "/api/v1/intake/logs/app", body)
	}
	require.Equal(t, http.StatusOK, post(`[{"n":1}]`).Status)

	// Compactor and alert nodes are missed by nobody.
	c.Compactors[0].Kill()
	c.Alerts[0].Kill()
	require.Equal(t, http.StatusOK, post(`[{"n":2}]`).Status)
	require.JSONEq(t, `[[2,3]]`, jsonOf(t, client.Query(t, "SELECT count(*), sum(n) FROM app")))

	// No querier: writes go on.
	c.Queriers[0].Kill()
	c.Queriers[1].Kill()
	require.Equal(t, http.StatusOK, post(`[{"n":3}]`).Status)
	_, err := client.Ask(t.Context(), "SELECT count(*) FROM app")
	status := statusOf(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status.Status)
	require.NotEmpty(t, status.Header.Get("Retry-After"))
	require.Contains(t, string(status.Body), "no querier node is available")
	c.StartAll(t)
	c.WaitMembers(t)
	require.JSONEq(t, `[[3,6]]`, jsonOf(t, client.Query(t, "SELECT count(*), sum(n) FROM app")))

	// Rows in files are answered without any intake, and rows that are not are missed aloud.
	for _, i := range c.Intakes {
		require.NoError(t, i.Restart(t.Context()))
	}
	require.Equal(t, http.StatusOK, post(`[{"n":4,"fresh":true}]`).Status)
	c.Intakes[0].Kill()
	c.Intakes[1].Kill()
	require.Equal(t, http.StatusServiceUnavailable, post(`[{"n":5}]`).Status)
	a, err := client.Ask(t.Context(), "SELECT count(*), sum(n) FROM app")
	require.NoError(t, err)
	require.JSONEq(t, `[[3,6]]`, jsonOf(t, a.Rows))
	require.NotEmpty(t, a.Warnings)
	require.Regexp(t, `^node i[12] epoch \d+ unreachable, rows since .* may be missing$`, a.Warnings[0])
	// A column that only the missing rows have is not called unknown as if that were certain.
	_, err = client.Ask(t.Context(), "SELECT fresh FROM app")
	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, err).Status)
	require.Contains(t, string(statusOf(t, err).Body), "unreachable")

	c.StartAll(t)
	c.WaitMembers(t)
	a, err = client.Ask(t.Context(), "SELECT count(*), sum(n), count(fresh) FROM app")
	require.NoError(t, err)
	require.Empty(t, a.Warnings)
	require.JSONEq(t, `[[4,10,1]]`, jsonOf(t, a.Rows))
}

func TestPostgresAway(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 2, Queriers: 1}))
	client := c.Routers[0].Client("t1")
	known := `[{"n":1}]`
	require.Equal(t, http.StatusOK, client.Post(t, "/api/v1/intake/logs/app", known).Status)
	before, err := c.Routers[0].Members(t.Context())
	require.NoError(t, err)
	c.Postgres.Kill()
	require.Equal(t, http.StatusOK, client.Post(t, "/api/v1/intake/logs/app", known).Status, "known streams take writes")
	require.Equal(t, http.StatusServiceUnavailable, client.Post(t, "/api/v1/intake/logs/unknown", known).Status)
	_, err = client.Ask(t.Context(), "SELECT count(*) FROM app")
	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, err).Status)
	for _, n := range c.All() {
		require.Equal(t, http.StatusOK, n.Client("").Get(t, "/api/v1/readyz").Status, "%s stays ready", n.ID)
	}
	require.NoError(t, c.Postgres.Start(t.Context()))
	require.JSONEq(t, `[[2]]`, jsonOf(t, eventually(t, client, "SELECT count(*) FROM app")))
	after, err := c.Routers[0].Members(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after, "an outage reshuffles nothing")
}
