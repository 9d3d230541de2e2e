package remotewrite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

const (
	series  = 20
	samples = 100 // of each series
)

// settings is a Prometheus configuration with one remote write.
const settings = `
remote_write:
- url: %s/api/v1/write
  headers: {X-Scope-OrgID: %s}
  protobuf_message: %s
  queue_config: {max_samples_per_send: 100, batch_send_deadline: 50ms, max_backoff: 1s, retry_on_http_429: %v}
`

// noScrapes is the scrape manager of a Prometheus that scrapes nothing.
type noScrapes struct{}

// Get implements remote.ReadyScrapeManager.
func (noScrapes) Get() (*scrape.Manager, error) { return nil, errors.New("nothing is scraped") }

// TestRefusedPrometheusLosesNothing writes samples to a TSDB whose remote write is refused again and again, by the rows of the database and
// by the bytes of the org. With retry_on_http_429, or where the database answers 503 instead, every sample is there once.
func TestRefusedPrometheusLosesNothing(t *testing.T) {
	t.Parallel()
	bytes := map[string]string{"MS_LIMITS_INGESTION_RATE_MB": "0.01", "MS_LIMITS_INGESTION_BURST_SIZE_MB": "0.02"}
	rows := "ALTER DATABASE public SET 'ingest_rows_rate_limit' = '300'"
	for name, c := range map[string]struct {
		env        map[string]string
		statements []string
		retry429   bool
	}{
		"rows, 429":  {nil, []string{rows}, true},
		"rows, 503":  {nil, []string{rows, "ALTER DATABASE public SET 'remote_write_reject_status' = '503'"}, false},
		"bytes, 429": {bytes, nil, true},
		"bytes, 503": {bytes, []string{"ALTER DATABASE public SET 'remote_write_reject_status' = '503'"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"MS_AUTH_MODE": "header"}
			maps.Copy(env, c.env)
			server := mstest.Start(t, mstest.Config{Env: env})
			for org, message := range map[string]string{"one": "prometheus.WriteRequest", "two": "io.prometheus.write.v2.Request"} {
				q := server.Client(org)
				for _, statement := range c.statements {
					q.Query(t, statement)
				}
				write(t, fmt.Sprintf(settings, server.HTTP, org, message, c.retry429))
				awaitSamples(t, q)
			}
			kind, _, _ := strings.Cut(name, ",")
			require.Positive(t, refused(t, server, kind), "never refused")
		})
	}
}

// write stores samples in a TSDB with remote write and returns when its queue is empty or the test's time is up.
func write(t *testing.T, yaml string) {
	t.Helper()
	conf, err := config.Load(yaml, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	dir := t.TempDir()
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	start := func() (int64, error) { return math.MinInt64, nil }
	sender := remote.NewStorage(nil, nil, start, dir, time.Minute, noScrapes{}, false)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	require.NoError(t, sender.ApplyConfig(conf))
	db.SetWriteNotified(sender)

	at := time.Now().Add(time.Second).UnixMilli() // what is older than the sender is not sent
	for i := range samples {
		app := db.Appender(context.WithoutCancel(t.Context()))
		for s := range series {
			l := labels.FromStrings("__name__", "orders", "shop", strconv.Itoa(s))
			_, err := app.Append(0, l, at+int64(i), float64(s*samples+i))
			require.NoError(t, err)
		}
		require.NoError(t, app.Commit())
	}
}

// awaitSamples waits until every sample is stored, and checks that each is there once.
func awaitSamples(t *testing.T, q mstest.Client) {
	t.Helper()
	const total = series * samples
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var last [][]any
	err := mstest.WaitFor(ctx, func(ctx context.Context) error {
		a, err := q.Ask(ctx, `SELECT count(*), count(DISTINCT value), min(value), max(value) FROM metrics.orders`)
		if err != nil {
			return err
		}
		if last = a.Rows; last[0][1] != json.Number(strconv.Itoa(total)) {
			return fmt.Errorf("%v of %d samples", last, total)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, json.Number(strconv.Itoa(total)), last[0][0], "a sample is there twice")
}

// refused reads how much of a kind was refused.
func refused(t *testing.T, server *mstest.Server, kind string) float64 {
	t.Helper()
	sum := 0.0
	res, err := server.Client("").Do(t.Context(), http.MethodGet, "/metrics", nil)
	require.NoError(t, err)
	for line := range strings.Lines(string(res.Body)) {
		if strings.HasPrefix(line, "millstream_quota_refused_total{") && strings.Contains(line, `kind="`+kind+`"`) {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}
