package cluster_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/millstream/millstream/internal/testkit/mscluster"
)

// TestSamplesOfTwoNodesCountOnce sends the same samples to two intake nodes, which do not know of each other's: SQL and PromQL count them
// once while both hold them, while one does, and when both have made files of them.
func TestSamplesOfTwoNodesCountOnce(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 2, Queriers: 1}))
	const samples = 50
	begin := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	send := func(node *mscluster.Node, value float64) {
		conn, err := grpc.NewClient(node.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		metrics := pmetric.NewMetrics()
		m := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName("g")
		points := m.SetEmptyGauge().DataPoints()
		for i := range samples {
			p := points.AppendEmpty()
			p.SetTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(i) * time.Second)))
			p.SetDoubleValue(value)
		}
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", "t1")
		_, err = pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(metrics))
		require.NoError(t, err)
	}
	client := c.Routers[0].Client("t1")
	promql := func(query string) string {
		form := url.Values{"query": {query}, "time": {time.Now().Format(time.RFC3339)}}
		res := client.Get(t, "/prometheus/api/v1/query?"+form.Encode())
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		found := regexp.MustCompile(`,"([^"]*)"\]`).FindSubmatch(res.Body)
		require.NotNil(t, found, "%s", res.Body)
		return string(found[1])
	}
	check := func(when string) {
		require.Equal(t, "50", promql("count_over_time(g[1h])"), when)
		require.EqualValues(t, "50", client.Query(t, "SELECT CAST(count(*) AS VARCHAR) FROM metrics.g")[0][0], when)
	}
	send(c.Intakes[0], 1)
	send(c.Intakes[1], 2)
	rows := client.Query(t, "SELECT CAST(count(*) AS VARCHAR) FROM metrics.g WHERE value > 0")
	require.EqualValues(t, "50", rows[0][0])
	check("both hold them")
	for i, when := range []string{"one has made a file", "both have made files"} {
		c.Intakes[i].Stop()
		require.NoError(t, c.Intakes[i].Restart(context.WithoutCancel(t.Context())))
		c.WaitMembers(t)
		check(when)
	}
	require.Equal(t, "100", promql("sum_over_time(g[1h])"), "the later file counts")
	require.EqualValues(t, "100", client.Query(t, "SELECT CAST(CAST(sum(value) AS BIGINT) AS VARCHAR) FROM metrics.g")[0][0])
}
