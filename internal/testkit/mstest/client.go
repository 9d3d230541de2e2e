package mstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Client asks a server in the name of one org.
type Client struct {
	Base string // as Server.HTTP
	Org  string // X-Scope-OrgID; empty sends none
	// Transport is for many requests in short time. Nil: each request has a connection of its own, and none is left behind.
	Transport http.RoundTripper
}

// Client returns a client of the server's full API.
func (s *Server) Client(org string) Client { return Client{Base: s.HTTP, Org: org} }

// Response is an answer, read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Answer is a query's answer. Numbers are json.Number, so that no digit is lost.
type Answer struct {
	Columns []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"columns"`
	Rows     [][]any        `json:"rows"`
	Stats    map[string]any `json:"stats"`
	Warnings []string       `json:"warnings"`
	// Error is what ended the statement after its first rows had been sent; nil when the answer is whole.
	Error *struct {
		Code    string `json:"error"`
		Message string `json:"message"`
	} `json:"error"`
}

// ErrNoAnswer is wrapped by the error of a request to which no whole answer came: the server is away, or was killed meanwhile.
var ErrNoAnswer = errors.New("no answer")

// StatusError is an answer whose status is not 200.
type StatusError struct{ Response }

// Error returns status and body.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Body) }

// Do sends a request to a path of the server. Pairs are header names and values in turn. The error wraps ErrNoAnswer.
func (c Client) Do(ctx context.Context, method, path string, body []byte, pairs ...string) (Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return Response{}, fmt.Errorf("build a request: %w", err)
	}
	if c.Org != "" {
		req.Header.Set("X-Scope-OrgID", c.Org)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		req.Header.Set(pairs[i], pairs[i+1])
	}
	return roundTrip(c.Transport, req)
}

// Ask runs a SQL statement. An answer other than 200 is a *StatusError; one that broke off is an error too.
func (c Client) Ask(ctx context.Context, statement string) (Answer, error) {
	body, err := json.Marshal(map[string]string{"language": "sql", "statement": statement})
	if err != nil {
		return Answer{}, fmt.Errorf("write the question: %w", err)
	}
	res, err := c.Do(ctx, http.MethodPost, "/api/v1/query", body, "Content-Type", "application/json")
	if err != nil {
		return Answer{}, err
	}
	if res.Status != http.StatusOK {
		return Answer{}, &StatusError{res}
	}
	var a Answer
	d := json.NewDecoder(bytes.NewReader(res.Body))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		return Answer{}, fmt.Errorf("read the answer %q: %w", res.Body, err)
	}
	if a.Error != nil && a.Error.Code == "unavailable" { // the process that answered was killed meanwhile
		return Answer{}, fmt.Errorf("%w: it broke off after %d rows: %s", ErrNoAnswer, len(a.Rows), a.Error.Message)
	}
	if a.Error != nil {
		return Answer{}, fmt.Errorf("the answer broke off after %d rows: %s: %s", len(a.Rows), a.Error.Code, a.Error.Message)
	}
	return a, nil
}

// Post sends a body and returns the answer, whatever its status. Pairs are header names and values in turn; without a Content-Type
// among them the body is JSON.
func (c Client) Post(t testing.TB, path, body string, pairs ...string) Response {
	t.Helper()
	pairs = append([]string{"Content-Type", "application/json"}, pairs...)
	res, err := c.Do(t.Context(), http.MethodPost, path, []byte(body), pairs...)
	require.NoError(t, err)
	return res
}

// Get returns the answer of a path, whatever its status.
func (c Client) Get(t testing.TB, path string) Response {
	t.Helper()
	res, err := c.Do(t.Context(), http.MethodGet, path, nil)
	require.NoError(t, err)
	return res
}

// Query runs a SQL statement that must succeed and returns its rows.
func (c Client) Query(t testing.TB, statement string) [][]any {
	t.Helper()
	a, err := c.Ask(t.Context(), statement)
	require.NoError(t, err, "%s", statement)
	return a.Rows
}

// roundTrip sends the request and reads the whole answer; a nil transport means one for this request alone.
func roundTrip(transport http.RoundTripper, req *http.Request) (Response, error) {
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true}
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return Response{}, fmt.Errorf("%s %s: %w: %w", req.Method, req.URL.Path, ErrNoAnswer, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return Response{}, fmt.Errorf("%s %s: %w to its end: %w", req.Method, req.URL.Path, ErrNoAnswer, err)
	}
	return Response{res.StatusCode, res.Header, body}, nil
}

// WaitFor calls condition until it returns nil, at most until ctx's deadline, which is in a minute if ctx has none. The error then
// carries what the last call returned that had time to end.
func WaitFor(ctx context.Context, condition func(context.Context) error) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w", last)
		}
	}
}
