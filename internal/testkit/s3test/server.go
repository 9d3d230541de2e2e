package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// EnvProgram names the variable that holds the path of the built gateway.
const EnvProgram = "MILLSTREAM_TEST_VERSITYGW"

// ErrNotBuilt is returned by Launch when the gateway's program is not there.
var ErrNotBuilt = errors.New("the S3 server for tests is not built (make .tools/versitygw)")

// Server is a private S3 server with one bucket. Its methods are not safe for concurrent use.
type Server struct {
	Endpoint  string // host:port on loopback, plain HTTP
	Region    string
	Bucket    string // exists and is empty at first
	AccessKey string
	SecretKey string

	program string
	dir     string
	process *proctest.Process // nil while stopped
}

// Start starts a private server and removes it when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := Launch(t.Context(), t.TempDir())
	if errors.Is(err, ErrNotBuilt) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

// Launch starts a server that keeps its files in dir, an empty folder that the caller removes. Stop it when done.
func Launch(ctx context.Context, dir string) (*Server, error) {
	dir, err := filepath.Abs(dir) // the program changes its working directory
	if err != nil {
		return nil, fmt.Errorf("find the server's folder: %w", err)
	}
	program, err := findProgram()
	if err != nil {
		return nil, err
	}
	port, err := proctest.FreePort()
	if err != nil {
		return nil, err
	}
	s := &Server{
		Endpoint:  net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Region:    "us-east-1",
		Bucket:    "millstream",
		AccessKey: proctest.Secret(),
		SecretKey: proctest.Secret(),
		program:   program,
		dir:       dir,
	}
	// A folder below the served one is a bucket.
	for _, folder := range []string{filepath.Join(s.dataDir(), s.Bucket), s.metaDir()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("make the server's folder: %w", err)
		}
	}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Start starts a stopped or killed server and returns once it answers.
func (s *Server) Start(ctx context.Context) error {
	if s.process != nil {
		return errors.New("start the S3 server: it is running")
	}
	p, err := proctest.Start(ctx, proctest.Config{
		Path: s.program,
		// Object metadata goes into a folder of its own: not every file system has extended attributes.
		Args:    []string{"--port", s.Endpoint, "--region", s.Region, "--quiet", "posix", "--sidecar", s.metaDir(), s.dataDir()},
		Env:     append(os.Environ(), "ROOT_ACCESS_KEY="+s.AccessKey, "ROOT_SECRET_KEY="+s.SecretKey),
		LogPath: filepath.Join(s.dir, "log"),
		Ready:   func(ctx context.Context) error { return answers(ctx, "http://"+s.Endpoint+"/") },
	})
	if err != nil {
		return err
	}
	s.process = p
	return nil
}

// Stop ends the server in order. Stopping a stopped server does nothing.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

func (s *Server) dataDir() string { return filepath.Join(s.dir, "buckets") }
func (s *Server) metaDir() string { return filepath.Join(s.dir, "meta") }

// answers reports whether any HTTP answer comes back; an anonymous request is refused, and that is answer enough.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("build a probe: %w", err)
	}
	transport := &http.Transport{DisableKeepAlives: true} // leaves no idle connection behind
	res, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("probe the S3 server: %w", err)
	}
	return res.Body.Close()
}

// findProgram returns the path that EnvProgram holds, else .tools/versitygw beside the go.mod above the working directory.
func findProgram() (string, error) {
	if path := os.Getenv(EnvProgram); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNotBuilt
		}
		dir = parent
	}
	program := filepath.Join(dir, ".tools", "versitygw")
	if _, err := os.Stat(program); err != nil {
		return "", ErrNotBuilt
	}
	return program, nil
}
