package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// ErrNotInstalled is returned by Launch when no PostgreSQL server is installed on this machine.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed (Debian: apt-get install postgresql, or run make setup)")

// restartWindow bounds how long a start is tried again after a kill: orphaned backends hold shared memory for a moment.
const restartWindow = 20 * time.Second

// Server is a private PostgreSQL server. It keeps its data, port and password over Stop, Kill and Start. Its methods are not safe
// for concurrent use.
type Server struct {
	dir      string // temporary folder that holds everything
	bin      string // folder of the server's programs
	port     int
	password string
	user     *syscall.Credential // nil: the caller's own
	process  *proctest.Process   // nil while stopped
}

// Launch creates a server in a new temporary folder and starts it. Close it when done. Tests call Start instead.
func Launch(ctx context.Context) (*Server, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	user, err := serverUser()
	if err != nil {
		return nil, err
	}
	port, err := proctest.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "millstream-pg-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the server: %w", err)
	}
	s := &Server{dir: dir, bin: bin, port: port, password: proctest.Secret(), user: user}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// create writes the cluster's files with initdb.
func (s *Server) create(ctx context.Context) error {
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.password+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the server's password: %w", err)
	}
	if s.user != nil {
		for _, path := range []string{s.dir, secret} {
			if err := os.Chown(path, int(s.user.Uid), int(s.user.Gid)); err != nil {
				return fmt.Errorf("hand the folder to the server's user: %w", err)
			}
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "--pgdata", s.dataDir(), "--username", "postgres",
		"--pwfile", secret, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("create a database cluster: %w: %s", err, out)
	}
	return nil
}

// Start starts a stopped or killed server and returns once it answers.
func (s *Server) Start(ctx context.Context) error {
	if s.process != nil {
		return errors.New("start PostgreSQL: it is running")
	}
	deadline := time.Now().Add(restartWindow)
	for {
		p, err := proctest.Start(ctx, proctest.Config{
			Path:       filepath.Join(s.bin, "postgres"),
			Args:       s.args(),
			User:       s.user,
			LogPath:    filepath.Join(s.dir, "log"),
			StopSignal: syscall.SIGINT, // "fast": ends sessions, writes a checkpoint
			Ready:      func(ctx context.Context) error { return ping(ctx, s.DSN()) },
		})
		if err == nil {
			s.process = p
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Server) args() []string {
	return []string{
		"-D", s.dataDir(), "-p", strconv.Itoa(s.port), "-k", s.dir,
		"-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=300",
		"-c", "shared_buffers=64MB",
		"-c", "fsync=off", // tests kill processes, they do not cut the power
		"-c", "full_page_writes=off",
	}
}

// Stop ends the server in order (PostgreSQL's fast shutdown). Stopping a stopped server does nothing.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// Kill ends the server with SIGKILL, as an out-of-memory kill would. What was committed is there after the next Start.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Restart stops the server and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	return s.Start(ctx)
}

// Close stops the server and removes its files.
func (s *Server) Close() error {
	s.Stop()
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the server's folder: %w", err)
	}
	return nil
}

// DSN returns the URL of the server's maintenance database, with user and password. It stays the same over restarts.
func (s *Server) DSN() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Addr returns host:port of the server, for proxies that cut connections.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

func ping(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return conn.Close(ctx)
}
