//go:build peers

package prometheus_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// fixture is a request of testdata/grafana.http.
type fixture struct {
	title, method, path, form string
}

func fixtures(t testing.TB, begin, end time.Time) []fixture {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "grafana.http"))
	require.NoError(t, err)
	fill := strings.NewReplacer(
		"STARTMS", strconv.FormatInt(begin.UnixMilli(), 10), "ENDMS", strconv.FormatInt(end.UnixMilli(), 10),
		"START", strconv.FormatInt(begin.Unix(), 10), "END", strconv.FormatInt(end.Unix(), 10),
	)
	var out []fixture
	var f fixture
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		method, path, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"):
			if title, _, ok := strings.Cut(line[1:], ":"); ok {
				f.title = title
			}
		case method == http.MethodGet || method == http.MethodPost:
			f.title, f.method, f.path, f.form = strings.TrimSpace(f.title), method, fill.Replace(path), ""
			out = append(out, f)
		case line != "":
			out[len(out)-1].form = fill.Replace(line)
		}
	}
	return out
}

// replay sends the request to a base URL, which may have a path.
func (f fixture) replay(t testing.TB, base string) envelope {
	t.Helper()
	path, body, headers := "/api/v1/"+f.path, "", []string{"User-Agent", "Grafana/13.0.0"}
	switch {
	case f.method == http.MethodPost:
		body, headers = f.form, append(headers, "Content-Type", "application/x-www-form-urlencoded")
	case f.form != "":
		path += "?" + f.form
	}
	res, err := mstest.Client{Base: base}.Do(t.Context(), f.method, path, []byte(body), headers...)
	require.NoError(t, err)
	return read(t, path, res)
}

// What Grafana's data source asks is answered as Prometheus answers it.
func TestGrafana(t *testing.T) {
	t.Parallel()
	peer := startReference(t)
	product := startProduct(t)
	s := newShop()
	s.fill(t, product.HTTP, peer.base)
	traced := tracedSeries(s.end.Add(-3 * time.Minute))
	write(t, product.HTTP, traced)
	write(t, peer.base, traced)
	all := fixtures(t, s.end.Add(-10*time.Minute), s.end)
	require.Len(t, all, 28)
	for i, f := range all {
		t.Run(fmt.Sprintf("%02d %s", i+1, f.title), func(t *testing.T) {
			t.Parallel()
			want := f.replay(t, peer.base)
			require.Empty(t, difference(f.replay(t, product.HTTP+"/prometheus"), want, false))
			if want.code == http.StatusOK && want.Data != nil {
				require.Equal(t, "success", want.Status)
			}
		})
	}
	t.Run("build information", func(t *testing.T) {
		t.Parallel()
		f := fixture{method: http.MethodGet, path: "status/buildinfo"}
		want, _ := f.replay(t, peer.base).Data.(map[string]any)
		got, _ := f.replay(t, product.HTTP+"/prometheus").Data.(map[string]any)
		require.Equal(t, promapi.Compatible, got["version"], "by which the editor chooses its features; go install leaves the peer's empty")
		for key := range want {
			require.Contains(t, got, key)
		}
		require.NotContains(t, got, "features", "that of Mimir")
	})
}

// tracedSeries is a classic histogram with exemplars.
func tracedSeries(at time.Time) *prompb.WriteRequest {
	r := &prompb.WriteRequest{}
	for i, le := range []string{"+Inf", "0.1", "1"} {
		ts := prompb.TimeSeries{Labels: []prompb.Label{
			{Name: "__name__", Value: "shop_traced_seconds_bucket"}, {Name: "job", Value: "shop"}, {Name: "le", Value: le},
		}}
		for k := range 3 {
			millis := at.Add(time.Duration(k) * 10 * time.Second).UnixMilli()
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: millis, Value: float64(k)})
			ts.Exemplars = append(ts.Exemplars, prompb.Exemplar{
				Labels: []prompb.Label{{Name: "trace_id", Value: fmt.Sprintf("%032x", i*10+k)}}, Value: 0.5 + float64(k), Timestamp: millis,
			})
		}
		r.Timeseries = append(r.Timeseries, ts)
	}
	return r
}

// What senders say of metrics, which the editor shows, is what Prometheus knows of its targets.
func TestMetadataOfAScrape(t *testing.T) {
	t.Parallel()
	product := startProduct(t)
	peer := newReference(t, "")
	config := fmt.Sprintf(`
global: {scrape_interval: 1s}
scrape_configs: [{job_name: prometheus, static_configs: [{targets: [%q]}]}]
remote_write: [{url: "%s/api/v1/write", metadata_config: {send_interval: 1s}, queue_config: {batch_send_deadline: 1s}}]
`, peer.base[len("http://"):], product.HTTP)
	require.NoError(t, os.WriteFile(filepath.Join(peer.dir, "prometheus.yml"), []byte(config), 0o600))
	peer.start(t.Context(), t)
	get := func(base, form string) envelope {
		return fixture{method: http.MethodGet, path: "metadata", form: form}.replay(t, base)
	}
	var want envelope
	require.Eventually(t, func() bool {
		want = get(peer.base, "")
		data, _ := want.Data.(map[string]any)
		return len(data) > 100 && difference(get(product.HTTP+"/prometheus", ""), want, true) == ""
	}, time.Minute, time.Second)
	form := url.Values{"metric": {"prometheus_http_requests_total"}}.Encode()
	require.Empty(t, difference(get(product.HTTP+"/prometheus", form), get(peer.base, form), true))
}
