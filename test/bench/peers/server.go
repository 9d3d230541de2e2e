package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

const (
	settlePoll    = 200 * time.Millisecond
	settleTimeout = 10 * time.Minute
)

// A dialect is how one kind of server is started and spoken to.
type dialect interface {
	name() string
	version() string
	// command runs the server on the port of 127.0.0.1 with all its data below dir.
	command(dir string, port int) proctest.Config
	// healthPath answers 200 once the server takes requests.
	healthPath() string
	// insertPath takes JSON lines, or remote write requests.
	insertPath() string
	// settled tells from the server's metrics whether all rows lie in their final files: nothing buffered, nothing being merged.
	settled(m samples) bool
	// rest is how long settled must hold: longer than the server's own pauses between two pieces of such work.
	rest() time.Duration
	// statement returns the question in the server's language.
	statement(q question) string
	// query makes the request whose answer is a row a line.
	query(ctx context.Context, base, statement string) (*http.Request, error)
	// cells reads the fields of one line of the answer, as text. It returns nil for a line that is no row.
	cells(line []byte, fields []string) ([]string, error)
}

// A wholeReader is a dialect whose answer is one document.
type wholeReader interface {
	// rows reads the fields of every row; nil when answers are not to be compared.
	rows(answer []byte) ([][]string, error)
}

// A server is a running process of one dialect.
type server struct {
	dialect
	dir     string
	base    string
	process *proctest.Process
	client  *http.Client
}

// start runs the server on the data below dir.
func start(ctx context.Context, d dialect, dir string) (*server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	port, err := proctest.FreePort()
	if err != nil {
		return nil, err
	}
	s := &server{
		dialect: d, dir: dir, base: fmt.Sprintf("http://127.0.0.1:%d", port),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
	}
	cfg := d.command(dir, port)
	cfg.LogPath = dir + ".log"
	cfg.Ready = func(ctx context.Context) error { return discard(s.get(ctx, d.healthPath())) }
	if s.process, err = proctest.Start(ctx, cfg); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *server) stop() {
	s.client.CloseIdleConnections()
	s.process.Stop()
}

// A target says where a request of an input goes: its path, and its org, "" for none.
type target func(request int) (path, org string)

// load sends the input in chunks, one request after the other, and returns when the last is acknowledged.
func (s *server) load(ctx context.Context, in *input) error {
	return s.loadTo(ctx, in, func(int) (string, string) { return s.insertPath(), "" })
}

// loadTo is load to other places than the usual one.
func (s *server) loadTo(ctx context.Context, in *input, to target) error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	for i := range len(in.cuts) - 1 {
		from, size := in.cuts[i], in.cuts[i+1]-in.cuts[i]
		path, org := to(i)
		header := in.header.Clone()
		if org != "" {
			header.Set("X-Scope-OrgID", org)
		}
		if err := s.post(ctx, path, io.NewSectionReader(f, from, size), size, header); err != nil {
			return fmt.Errorf("send chunk %d: %w", i, err)
		}
	}
	return nil
}

// insert sends JSON lines of so many bytes.
func (s *server) insert(ctx context.Context, lines io.Reader, size int64) error {
	return s.post(ctx, s.insertPath(), lines, size, http.Header{"Content-Type": {"application/x-ndjson"}})
}

// post sends a body of so many bytes.
func (s *server) post(ctx context.Context, path string, body io.Reader, size int64, header http.Header) error {
	if size == 0 {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, body)
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header = header
	return discard(s.do(req))
}

// settle waits until the server has written all it was given to where it stays.
func (s *server) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	poll := max(settlePoll, s.rest()/10) // a look costs the server some milliseconds
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for quiet := time.Duration(0); quiet < s.rest(); {
		m, err := s.samples(ctx)
		if err != nil {
			return fmt.Errorf("wait until %s has settled: %w", s.name(), err)
		}
		quiet += poll
		if !s.settled(m) {
			quiet = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s has settled: %w", s.name(), ctx.Err())
		}
	}
	return nil
}

// samples reads the server's metrics page.
func (s *server) samples(ctx context.Context) (samples, error) {
	body, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	m, err := readSamples(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("read the metrics of %s: %w", s.name(), err)
	}
	return m, nil
}

// ask returns the body of the answer.
func (s *server) ask(ctx context.Context, statement string) (io.ReadCloser, error) {
	req, err := s.query(ctx, s.base, statement)
	if err != nil {
		return nil, err
	}
	return s.do(req)
}

func (s *server) get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return s.do(req)
}

// do returns the body of a successful answer; others are errors with their text.
func (s *server) do(req *http.Request) (io.ReadCloser, error) {
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res.Body, nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 2000))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s answers %d: %s", req.URL.Path, res.StatusCode, strings.TrimSpace(string(text)))
}

// discard reads an answer to its end, so that its connection can be used again.
func discard(body io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// prepareServers returns the dialects to measure, the product first; their programs are built when missing.
func prepareServers(ctx context.Context, cfg settings, progress io.Writer) ([]dialect, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if cfg.metrics {
		return prepareMetricServers(ctx, root, cfg.only, progress)
	}
	only := cfg.only
	var all []dialect
	if only == "" || only == "product" {
		d, err := newProduct(ctx, root)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if only == "" || only == "victorialogs" {
		d, err := newVictoriaLogs(ctx, root, progress)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--only %s: product and victorialogs can be measured", only)
	}
	return all, nil
}
