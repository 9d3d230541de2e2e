//go:build peers

package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/proctest"
)

// startProduct starts Millstream without limits of requests a second, which a comparison is faster than. Pairs are settings by environment
// name and their values in turn.
func startProduct(t testing.TB, pairs ...string) *mstest.Server {
	t.Helper()
	env := map[string]string{"MS_ROUTER_RATE_LIMIT_QUERY_QPS": "0", "MS_ROUTER_RATE_LIMIT_INTAKE_QPS": "0"}
	for i := 0; i+1 < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return mstest.Start(t, mstest.Config{Env: env})
}

// program returns the path of a peer's program, which make test-prometheus builds.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", ".tools", name))
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, "make .tools/%s builds it", name)
	return path
}

// reference is a Prometheus server of the test.
type reference struct {
	base    string // http://127.0.0.1:port
	dir     string
	args    []string
	process *proctest.Process
}

// newReference prepares a Prometheus with a configuration; it is not started.
func newReference(t testing.TB, config string, args ...string) *reference {
	t.Helper()
	port, err := proctest.FreePort()
	require.NoError(t, err)
	r := &reference{base: "http://127.0.0.1:" + strconv.Itoa(port), dir: t.TempDir()}
	file := filepath.Join(r.dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	r.args = append([]string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(r.dir, "data"),
		"--web.listen-address=127.0.0.1:" + strconv.Itoa(port), "--log.level=warn",
		"--enable-feature=promql-experimental-functions,exemplar-storage",
	}, args...)
	return r
}

func (r *reference) start(ctx context.Context, t testing.TB) {
	t.Helper()
	p, err := proctest.Start(ctx, proctest.Config{
		Path: program(t, "prometheus"), Args: r.args, LogPath: filepath.Join(r.dir, "prometheus.log"),
		Ready: func(ctx context.Context) error {
			res, err := mstest.Client{Base: r.base}.Do(ctx, http.MethodGet, "/-/ready", nil)
			if err == nil && res.Status != http.StatusOK {
				err = fmt.Errorf("ready: %d", res.Status)
			}
			return err
		},
	})
	require.NoError(t, err)
	r.process = p
	t.Cleanup(p.Stop)
}

// startReference starts a Prometheus that takes remote writes and scrapes nothing.
func startReference(t testing.TB) *reference {
	t.Helper()
	r := newReference(t, "global: {scrape_interval: 15s}\n", "--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=30d")
	r.start(t.Context(), t)
	return r
}
