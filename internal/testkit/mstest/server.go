package mstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// Config says how to run the program.
type Config struct {
	// Env are settings by environment name, as MS_INTAKE_FLUSH_INTERVAL_SECS; they win over those of the kit (data directory, ports,
	// node id "test", no MS_ variable of the test's own environment).
	Env map[string]string
	// DataDir is node.data_dir. Empty: a temporary folder of the test.
	DataDir string
}

// Server is a millstream process on loopback, with all roles unless its settings say otherwise. Data and ports stay the same over Stop,
// Kill and Start. Its methods are not safe for concurrent use, except Client and Logs.
type Server struct {
	HTTP     string // base URL of the full API, http://127.0.0.1:port
	OTLPHTTP string // base URL of OTLP over HTTP
	OTLPGRPC string // host:port of OTLP over gRPC
	Peers    string // host:port for other nodes; open with a cluster token only
	DataDir  string

	program string
	env     map[string]string // MS_ variables
	logPath string
	process *proctest.Process // nil while stopped
}

// Start starts a server and returns when it is ready. It is stopped when the test ends, and its log shown if the test failed.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s := New(t, cfg)
	require.NoError(t, s.Start(t.Context()))
	return s
}

// New prepares a server without starting it.
func New(t testing.TB, cfg Config) *Server {
	t.Helper()
	program, err := Program()
	require.NoError(t, err)
	s := &Server{program: program, DataDir: cfg.DataDir, logPath: filepath.Join(t.TempDir(), "millstream.log")}
	if s.DataDir == "" {
		s.DataDir = filepath.Join(t.TempDir(), "data")
	}
	http, otlpHTTP, otlpGRPC, peers := freePort(t), freePort(t), freePort(t), freePort(t)
	s.HTTP, s.OTLPHTTP = "http://127.0.0.1:"+http, "http://127.0.0.1:"+otlpHTTP
	s.OTLPGRPC, s.Peers = net.JoinHostPort("127.0.0.1", otlpGRPC), net.JoinHostPort("127.0.0.1", peers)
	s.env = map[string]string{
		"MS_NODE_DATA_DIR": s.DataDir, "MS_NODE_ID": "test",
		"MS_HTTP_PORT": http, "MS_OTLP_HTTP_PORT": otlpHTTP, "MS_OTLP_GRPC_PORT": otlpGRPC, "MS_GRPC_PORT": peers,
	}
	maps.Copy(s.env, cfg.Env)
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("log of millstream:\n%s", tail(s.Logs()))
		}
	})
	return s
}

func freePort(t testing.TB) string {
	t.Helper()
	port, err := proctest.FreePort()
	require.NoError(t, err)
	return strconv.Itoa(port)
}

// Start starts a stopped or killed server and returns when it is ready.
func (s *Server) Start(ctx context.Context) error { return s.start(ctx, s.ready) }

// StartAlive starts a stopped or killed server and returns when healthz answers: it may still be replaying.
func (s *Server) StartAlive(ctx context.Context) error {
	return s.start(ctx, func(ctx context.Context) error { return probe(ctx, s.HTTP+"/api/v1/healthz") })
}

func (s *Server) start(ctx context.Context, ready func(context.Context) error) error {
	if s.Running() {
		return errors.New("start millstream: it is running")
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MS_") })
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	p, err := proctest.Start(ctx, proctest.Config{Path: s.program, Env: env, LogPath: s.logPath, Ready: ready})
	if err != nil {
		return err
	}
	s.process = p
	return nil
}

// Set changes a setting, by environment name, for the next start.
func (s *Server) Set(name, value string) { s.env[name] = value }

// Unset removes a setting, by environment name, for the next start.
func (s *Server) Unset(name string) { delete(s.env, name) }

// WaitReady returns when readyz says ready.
func (s *Server) WaitReady(ctx context.Context) error { return WaitFor(ctx, s.ready) }

func (s *Server) ready(ctx context.Context) error { return probe(ctx, s.HTTP+"/api/v1/readyz") }

// Stop asks the process to end (SIGTERM), waits for that, and kills it when the stop takes longer than thirty seconds. Stopping a
// stopped server does nothing.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Signal sends a signal to the running process and does not wait.
func (s *Server) Signal(sig syscall.Signal) error {
	if !s.Running() {
		return errors.New("signal millstream: it is not running")
	}
	return syscall.Kill(s.process.PID(), sig)
}

// Restart stops the server in order and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	return s.Start(ctx)
}

// Running reports whether there is a process; one that ended by itself is not running.
func (s *Server) Running() bool {
	if s.process == nil {
		return false
	}
	select {
	case <-s.process.Exited():
		return false
	default:
		return true
	}
}

// Exited is closed when the process that was started last is gone.
func (s *Server) Exited() <-chan struct{} { return s.process.Exited() }

// PID returns the process's id, for looking at its memory. It is 0 while there is none.
func (s *Server) PID() int {
	if s.process == nil {
		return 0
	}
	return s.process.PID()
}

// Logs returns all that the processes of this server have written, oldest first.
func (s *Server) Logs() string {
	text, err := os.ReadFile(s.logPath)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail returns the last lines of a long log.
func tail(log string) string {
	const most = 200
	lines := strings.SplitAfter(log, "\n")
	if left := len(lines) - most; left > 0 {
		return fmt.Sprintf("(%d lines before)\n%s", left, strings.Join(lines[left:], ""))
	}
	return log
}

// probe returns nil when url answers 200.
func probe(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("build a probe: %w", err)
	}
	res, err := roundTrip(nil, req)
	if err != nil {
		return err
	}
	if res.Status != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", url, res.Status, res.Body)
	}
	return nil
}
