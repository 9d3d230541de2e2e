//go:build peers

package prometheus_test

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// promtool prints of Millstream what it prints of Prometheus: queries, and the checks of a server.
func TestPromtool(t *testing.T) {
	t.Parallel()
	peer := startReference(t)
	product := startProduct(t)
	s := newShop()
	s.fill(t, product.HTTP, peer.base)
	seconds := func(ago time.Duration) string { return strconv.FormatInt(s.end.Add(-ago).Unix(), 10) }
	start, end := seconds(10*time.Minute), seconds(time.Minute)
	for name, args := range map[string][]string{
		"instant":         {"query", "instant", "--time=" + end, "SERVER", "sum by (mode) (rate(shop_cpu_usage_seconds_total[5m]))"},
		"instant as JSON": {"query", "-o", "json", "instant", "--time=" + end, "SERVER", "shop_num_cpus"},
		"a wrong query":   {"query", "instant", "--time=" + end, "SERVER", "sum("},
		"range":           {"query", "range", "--start=" + start, "--end=" + end, "--step=30s", "SERVER", "shop_num_cpus * 2"},
		"series":          {"query", "series", "--match=shop_num_cpus", "--match=shop_odd", "--start=" + start, "--end=" + end, "SERVER"},
		"labels":          {"query", "labels", "--start=" + start, "--end=" + end, "SERVER", "instance"},
		"labels of some":  {"query", "labels", "--match=shop_num_cpus", "--start=" + start, "--end=" + end, "SERVER", "__name__"},
		"analyze":         {"query", "analyze", "--server=SERVER", "--type=histogram", "--match=shop_latency_seconds", "--time=" + end},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, wantCode := promtool(t, peer.base, args)
			got, code := promtool(t, product.HTTP+"/prometheus", args)
			require.NotEmpty(t, want)
			require.Equal(t, wantCode, code, got)
			require.Equal(t, lines(want), lines(got))
		})
	}
	for _, check := range []string{"healthy", "ready"} {
		for _, slash := range []string{"", "/"} {
			out, code := promtool(t, product.HTTP+"/prometheus"+slash, []string{"check", check, "--url=SERVER"})
			require.Zero(t, code, out)
			require.Contains(t, out, "SUCCESS")
		}
	}
	res := product.Client("").Get(t, "/metrics")
	cmd := exec.CommandContext(t.Context(), program(t, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(string(res.Body))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "what /metrics says is well formed and named: %s", out)
}

// promtool runs the program with SERVER replaced and returns what it prints and its exit code.
func promtool(t testing.TB, server string, args []string) (string, int) {
	t.Helper()
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "SERVER", server)
	}
	cmd := exec.CommandContext(t.Context(), program(t, "promtool"), args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// lines sorts an output: the order of series of an instant answer means nothing.
func lines(text string) []string {
	out := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(out)
	return out
}
