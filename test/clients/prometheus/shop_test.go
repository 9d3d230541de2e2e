//go:build peers

package prometheus_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// The samples of a small shop: three instances, two hours, every ten seconds. A function of time alone, so that two servers can be given
// the same.
const (
	shopStep  = 10 * time.Second
	shopHours = 2
)

// shop is what three instances of a program tell about themselves.
type shop struct {
	begin, end time.Time
}

// newShop returns a shop whose last samples are a minute old.
func newShop() *shop {
	end := time.Now().Add(-time.Minute).Truncate(shopStep)
	return &shop{begin: end.Add(-shopHours * time.Hour), end: end}
}

func shopInstances() []string {
	return []string{"shop.example.com:10000", "shop.example.com:10001", "shop.example.com:10002"}
}

// requests calls send with remote write requests of five minutes each, in order of time.
func (s *shop) requests(send func(*prompb.WriteRequest)) {
	const perRequest = 30
	for at := s.begin; !at.After(s.end); at = at.Add(perRequest * shopStep) {
		r := &prompb.WriteRequest{}
		index := make(map[string]int)
		for i := range perRequest {
			t := at.Add(time.Duration(i) * shopStep)
			if t.After(s.end) {
				break
			}
			for n := range shopInstances() {
				s.scrape(n, t, func(labels []string, p prompb.Sample) { addSample(r, index, labels, p) }, func(h prompb.Histogram) {
					labels := []string{"__name__", "shop_latency_seconds", "instance", shopInstances()[n], "job", "shop"}
					ts := seriesOf(r, index, labels)
					ts.Histograms = append(ts.Histograms, h)
				})
			}
		}
		send(r)
	}
}

func seriesOf(r *prompb.WriteRequest, index map[string]int, labels []string) *prompb.TimeSeries {
	key := fmt.Sprint(labels)
	i, ok := index[key]
	if !ok {
		i = len(r.Timeseries)
		index[key] = i
		ts := prompb.TimeSeries{}
		for j := 0; j < len(labels); j += 2 {
			ts.Labels = append(ts.Labels, prompb.Label{Name: labels[j], Value: labels[j+1]})
		}
		r.Timeseries = append(r.Timeseries, ts)
	}
	return &r.Timeseries[i]
}

func addSample(r *prompb.WriteRequest, index map[string]int, labels []string, p prompb.Sample) {
	ts := seriesOf(r, index, labels)
	ts.Samples = append(ts.Samples, p)
}

// scrape gives the samples of instance n at a time. Counters fall back to zero once, one series comes and goes, some values are no
// ordinary numbers.
func (s *shop) scrape(n int, t time.Time, add func([]string, prompb.Sample), addHistogram func(prompb.Histogram)) {
	k := int64(t.Sub(s.begin) / shopStep)
	millis := t.UnixMilli() + int64(n*137)
	put := func(name string, v float64, labels ...string) {
		all := append([]string{"__name__", name}, labels...)
		add(sortedLabels(append(all, "instance", shopInstances()[n], "job", "shop")), prompb.Sample{Timestamp: millis, Value: v})
	}
	since := k // since the last start of the instance
	if restart := int64(250 + 100*n); k >= restart {
		since = k - restart
	}
	x := float64(since)
	for i, mode := range []string{"idle", "system", "user"} {
		put("shop_cpu_usage_seconds_total", x*(1.37+float64(i))+math.Sin(x)*0.1+x*float64(n), "mode", mode)
	}
	for i, kind := range []string{"buffers", "cached", "free", "used"} {
		put("shop_memory_usage_bytes", 1e9*float64(i+1)+1e7*math.Sin(float64(k)/40+float64(n)), "type", kind)
	}
	put("shop_disk_usage_bytes", 1e10+float64(k*k)*17+float64(n)*1e8)
	put("shop_num_cpus", 4)
	put("shop_batch_last_success_timestamp_seconds", float64(s.begin.Unix())+math.Floor(float64(k)/30)*300)
	s.intermittent(k, put)
	s.requestTimes(n, since, put)
	h := tsdbutil.GenerateTestHistogram(since)
	addHistogram(prompb.FromIntHistogram(millis, h))
}

func (s *shop) intermittent(k int64, put func(string, float64, ...string)) {
	switch k % 20 {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		put("shop_intermittent", float64(k))
	case 8:
		put("shop_intermittent", math.Float64frombits(value.StaleNaN))
	}
	odd := []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e-300}
	put("shop_odd", odd[k/10%int64(len(odd))])
}

// requestTimes are histograms of the classic kind.
func (s *shop) requestTimes(n int, since int64, put func(string, float64, ...string)) {
	const name = "shop_api_request_duration_seconds"
	for m, method := range []string{"GET", "POST"} {
		for p, path := range []string{"/api/bar", "/api/foo"} {
			labels := []string{"method", method, "path", path, "status", "200"}
			total := float64(since * int64(3+m+p+n))
			for i, le := range []string{"0.001", "0.01", "0.1", "1", "+Inf"} {
				share := []float64{0.1, 0.4, 0.8, 0.95, 1}[i]
				put(name+"_bucket", math.Floor(total*share), append([]string{"le", le}, labels...)...)
			}
			put(name+"_count", total, labels...)
			put(name+"_sum", total*0.07, labels...)
		}
	}
}

func sortedLabels(pairs []string) []string {
	for i := 2; i < len(pairs); i += 2 {
		for j := i; j > 0 && pairs[j] < pairs[j-2]; j -= 2 {
			pairs[j], pairs[j-2] = pairs[j-2], pairs[j]
			pairs[j+1], pairs[j-1] = pairs[j-1], pairs[j+1]
		}
	}
	return pairs
}

// write sends a remote write request of version 1 to a server; any answer of 2xx is good.
func write(t testing.TB, base string, r *prompb.WriteRequest) {
	t.Helper()
	writeAs(t, base, "", r)
}

func writeAs(t testing.TB, base, org string, r *prompb.WriteRequest) {
	t.Helper()
	body, err := r.Marshal()
	require.NoError(t, err)
	res, err := mstest.Client{Base: base, Org: org}.Do(t.Context(), http.MethodPost, "/api/v1/write", snappy.Encode(nil, body),
		"Content-Type", "application/x-protobuf", "Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "0.1.0")
	require.NoError(t, err)
	require.Equal(t, 2, res.Status/100, "%d %s", res.Status, res.Body)
}

// fill sends the whole shop to both servers.
func (s *shop) fill(t testing.TB, product, peer string) {
	t.Helper()
	s.requests(func(r *prompb.WriteRequest) {
		write(t, product, r)
		write(t, peer, r)
	})
}
