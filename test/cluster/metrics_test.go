package cluster_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
)

// TestRemoteWriteThroughRouters: samples of many metrics go to the owners of their names; PromQL on every router sees them, fresh, and a
// sample that contradicts its series is refused through the router as on the node itself.
func TestRemoteWriteThroughRouters(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 2, Intakes: 3, Queriers: 1}))
	at := time.Now().Add(-time.Minute).UnixMilli()
	write := func(value float64) (status int, body string) {
		var req prompb.WriteRequest
		for i := range 30 {
			req.Timeseries = append(req.Timeseries, prompb.TimeSeries{
				Labels:  []prompb.Label{{Name: "__name__", Value: "m" + strconv.Itoa(i)}, {Name: "job", Value: "shop"}},
				Samples: []prompb.Sample{{Timestamp: at, Value: value}},
			})
		}
		data, err := req.Marshal()
		require.NoError(t, err)
		res := c.Routers[0].Client("t1").Post(t, "/api/v1/write", string(snappy.Encode(nil, data)),
			"Content-Type", "application/x-protobuf", "Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "0.1.0")
		return res.Status, string(res.Body)
	}
	status, body := write(2)
	require.Equal(t, http.StatusNoContent, status, body)
	status, body = write(2)
	require.Equal(t, http.StatusNoContent, status, "the same again: %s", body)
	status, body = write(3)
	require.Equal(t, http.StatusBadRequest, status, body)
	for _, r := range c.Routers {
		res := r.Client("t1").Get(t, "/prometheus/api/v1/query?query="+url.QueryEscape(`sum({job="shop"})`))
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		require.Contains(t, string(res.Body), `"60"`)
	}
}
