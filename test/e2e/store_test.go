package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lazily keeps rows in memory until a test wants files: flush is then a stop in order.
const lazily = "3600"

// modeVariable chooses what the suite runs against: "all" (default), one process with all roles, or "split", a cluster of one process
// a role. Requests and answers are the same.
const modeVariable = "MILLSTREAM_TEST_MODE"

// store is a server, or the first router of a cluster, and the org that a test speaks for.
type store struct {
	*mstest.Server
	mstest.Client
	settings []string           // MS_ variables as name=value
	cluster  *mscluster.Cluster // nil: the server has all roles
}

// start starts a server that flushes only when it stops. Pairs are names of MS_ variables and their values.
func start(t *testing.T, pairs ...string) store {
	t.Helper()
	env := map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": lazily}
	for i := 0; i+1 < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	s := store{}
	switch mode := os.Getenv(modeVariable); mode {
	case "", "all":
		s.Server = mstest.Start(t, mstest.Config{Env: env})
	case "split":
		layout := mscluster.Split()
		layout.Env = env
		s.cluster = mscluster.Start(t, layout)
		s.Server = s.cluster.Routers[0].Server
	default:
		require.Failf(t, "unknown mode", "%s=%q is neither all nor split", modeVariable, mode)
	}
	s.Client = s.Server.Client("t1")
	for name, value := range env {
		s.settings = append(s.settings, name+"="+value)
	}
	return s
}

// stages runs check on rows in memory, on rows read back from the log after a kill, on rows in files, and after a kill again.
func (s store) stages(t *testing.T, check func(t *testing.T)) {
	t.Helper()
	run := func(stage string) { require.True(t, t.Run(stage, check), "stage %s", stage) }
	run("fresh")
	s.crash(t)
	run("replayed")
	s.flush(t)
	require.Zero(t, s.metric(t, "millstream_ingest_buffer_rows"))
	run("flushed")
	s.crash(t)
	run("restarted")
}

// crash kills the server and starts it again; of a cluster, every process.
func (s store) crash(t *testing.T) {
	t.Helper()
	if s.cluster == nil {
		s.Kill()
		require.NoError(t, s.Start(t.Context()))
		return
	}
	for _, n := range s.cluster.All() {
		n.Kill()
	}
	s.cluster.StartAll(t)
	s.cluster.WaitMembers(t)
}

// set changes a setting for the next start; of a cluster, for all processes.
func (s store) set(name, value string) {
	if s.cluster == nil {
		s.Set(name, value)
		return
	}
	for _, n := range s.cluster.All() {
		n.Set(name, value)
	}
}

// flush makes files of all rows: it stops what holds rows in order and starts it again.
func (s store) flush(t *testing.T) { require.NoError(t, s.Restart(t.Context())) }

// Restart stops the server in order and starts it again; of a cluster, the intake nodes.
func (s store) Restart(ctx context.Context) error {
	if s.cluster == nil {
		return s.Server.Restart(ctx)
	}
	err := mscluster.Each(ctx, s.cluster.Intakes, func(ctx context.Context, n *mscluster.Node) error { return n.Restart(ctx) })
	if err != nil {
		return err
	}
	return s.cluster.AwaitMembers(ctx)
}

// processes returns how many processes there are.
func (s store) processes() int {
	if s.cluster == nil {
		return 1
	}
	return len(s.cluster.All())
}

// waitFlushed waits until a server with a short flush interval has no rows in memory.
func (s store) waitFlushed(t *testing.T) {
	t.Helper()
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		if n := s.metric(t, "millstream_ingest_buffer_rows"); n != 0 {
			return fmt.Errorf("%v rows in memory", n)
		}
		return nil
	}))
}

// metric returns the value of a series of /metrics, given as printed there, of a cluster the sum over its processes. A series that is
// not there is 0.
func (s store) metric(t *testing.T, series string) float64 {
	t.Helper()
	if s.cluster == nil {
		return metricOf(t, s.Client, series)
	}
	var sum float64
	for _, n := range s.cluster.All() {
		sum += metricOf(t, n.Client(""), series)
	}
	return sum
}

func metricOf(t *testing.T, client mstest.Client, series string) float64 {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(client.Get(t, "/metrics").Body))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), series+" "); ok {
			v, err := strconv.ParseFloat(rest, 64)
			require.NoError(t, err)
			return v
		}
	}
	return 0
}

// reply is the answer to JSON intake.
type reply struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Errors   []struct {
		Index  int    `json:"index"`
		Line   int    `json:"line"`
		Reason string `json:"reason"`
	} `json:"errors"`
	Message string `json:"message"`
}

// logs posts JSON to a stream of logs and returns the decoded answer, whatever its status.
func (s store) logs(t *testing.T, stream, body string, pairs ...string) (status int, r reply) {
	t.Helper()
	res := s.Post(t, "/api/v1/intake/logs/"+stream, body, pairs...)
	require.NoError(t, json.Unmarshal(res.Body, &r), "%s", res.Body)
	return res.Status, r
}

// accept posts JSON whose rows must all be taken.
func (s store) accept(t *testing.T, stream, body string) {
	t.Helper()
	status, r := s.logs(t, stream, body)
	require.Equal(t, http.StatusOK, status, "%+v", r)
	require.Zero(t, r.Rejected, "%+v", r)
}

// column returns the only column of a statement's rows as text, null as <nil>.
func (s store) column(t *testing.T, statement string) []string {
	t.Helper()
	rows := s.Query(t, statement)
	out := make([]string, len(rows))
	for i, row := range rows {
		require.Len(t, row, 1)
		out[i] = text(row[0])
	}
	return out
}

// text is a cell as a reader sees it.
func text(cell any) string {
	switch v := cell.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
}

// one returns the only cell of a statement's answer as text.
func (s store) one(t *testing.T, statement string) string {
	t.Helper()
	cells := s.column(t, statement)
	require.Len(t, cells, 1, statement)
	return cells[0]
}

// segments returns how many files a question about all rows of a stream reads.
func (s store) segments(t *testing.T, stream string) int {
	t.Helper()
	a, err := s.Ask(t.Context(), "SELECT count(*), max(_timestamp) FROM "+stream)
	require.NoError(t, err)
	n, err := strconv.Atoi(text(a.Stats["segments"]))
	require.NoError(t, err)
	return n
}

// refusal runs a statement that must fail and returns the answer.
func (s store) refusal(t *testing.T, statement string) *mstest.StatusError {
	t.Helper()
	_, err := s.Ask(t.Context(), statement)
	var status *mstest.StatusError
	require.ErrorAs(t, err, &status, statement)
	return status
}

// rss returns the resident memory of the server in bytes.
func (s store) rss(t *testing.T) int64 {
	t.Helper()
	return memory(t, s.PID(), "VmRSS:")
}

// peakRSS returns the largest resident memory that the server has had since resetPeak.
func (s store) peakRSS(t *testing.T) int64 {
	t.Helper()
	return memory(t, s.PID(), "VmHWM:")
}

// resetPeak makes peakRSS start anew.
func (s store) resetPeak(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.PID()), []byte("5"), 0o600))
}

func memory(t *testing.T, pid int, field string) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			require.NoError(t, err)
			return kb << 10
		}
	}
	require.Fail(t, "no "+field)
	return 0
}

const mib = 1 << 20
