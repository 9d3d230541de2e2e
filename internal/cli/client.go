package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Media types of answers.
const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
)

// maxErrorBytes bounds what is read of an answer that is an error, or that tells what became of rows.
const maxErrorBytes = 1 << 20

// client talks to one server in the name of one org.
type client struct {
	base, org, token, database string
	timeout                    time.Duration // of one request, its answer included; 0 = none
	http                       *http.Client
}

func newClient(base, org, database string, timeout time.Duration) *client {
	return &client{base: base, org: org, database: database, timeout: timeout, http: &http.Client{}}
}

// queryRequest is the body of the query API. Times are as the API takes them: RFC 3339, numbers, now-1h.
type queryRequest struct {
	Language  string `json:"language"`
	Statement string `json:"statement"`
	Database  string `json:"database,omitempty"`
	Start     string `json:"start,omitempty"`
	End       string `json:"end,omitempty"`
	Limit     int    `json:"limit,omitempty"`
}

// query runs a statement and returns the answer, whose body the caller closes. Closing it, or ending ctx, before the body's end
// cancels the statement at the server. An answer other than 200 is an *apiError.
func (c *client) query(ctx context.Context, q queryRequest, media string) (*http.Response, error) {
	q.Language, q.Database = "sql", c.database
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("write the question: %w", err)
	}
	cancel := func() {}
	if c.timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v (--timeout)", c.timeout))
	}
	res, err := c.send(ctx, http.MethodPost, "/api/v1/query", body, http.Header{"Content-Type": {mediaJSON}, "Accept": {media}})
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &canceledBody{res.Body, cancel}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, readError(res)
	}
	return res, nil
}

// post sends a body and returns the whole answer if its status is 2xx, else an *apiError. The answer's body is returned in both cases.
func (c *client) post(ctx context.Context, path string, body []byte, header http.Header) ([]byte, error) {
	text, _, err := c.exchange(ctx, path, body, header)
	return text, err
}

// exchange is post with the answer's headers, nil when there is no answer.
func (c *client) exchange(ctx context.Context, path string, body []byte, header http.Header) ([]byte, http.Header, error) {
	return c.call(ctx, http.MethodPost, path, body, header)
}

// call is exchange with another method.
func (c *client) call(ctx context.Context, method, path string, body []byte, header http.Header) ([]byte, http.Header, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v (--timeout)", c.timeout))
		defer cancel()
	}
	header = header.Clone()
	if c.database != "" {
		header.Set("X-Millstream-Database", c.database)
	}
	res, err := c.send(ctx, method, path, body, header)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode < http.StatusOK || res.StatusCode >= http.StatusMultipleChoices {
		return text, res.Header, parseError(res, text)
	}
	return text, res.Header, nil
}

func (c *client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header = header
	if c.org != "" {
		req.Header.Set("X-Scope-OrgID", c.org)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no server answers at %s (start one with 'millstream', or name yours with --addr): %w", c.base, errRefused)
	default:
		return nil, err
	}
}

// errRefused is a connection that nobody took: the request was certainly not received.
var errRefused = errors.New("connection refused")

// canceledBody ends the request's context with the body.
type canceledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *canceledBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// readError reads an answer that is an error.
func readError(res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	if err != nil {
		return fmt.Errorf("status %s, then: %w", res.Status, err)
	}
	return parseError(res, text)
}

// parseError understands the server's JSON error objects, and takes any other text as it is.
func parseError(res *http.Response, text []byte) error {
	e := &apiError{Status: res.StatusCode, RequestID: res.Header.Get("X-Request-Id"), RetryAfter: retryAfter(res.Header)}
	var body struct {
		Message  string `json:"message"`
		Settled  int    `json:"settled"`
		Accepted int    `json:"accepted"`
	}
	if json.Unmarshal(text, &body) == nil && body.Message != "" {
		e.Message, e.Settled, e.Accepted = body.Message, body.Settled, body.Accepted
		return e
	}
	const most = 300
	e.Message = res.Status
	if shown := strings.TrimSpace(string(text[:min(len(text), most)])); shown != "" {
		e.Message += ": " + printable(shown)
	}
	return e
}

// retryAfter reads both forms of the header; 0 when there is none.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
