package agents_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"
)

// agent is a log shipper.
type agent struct {
	name   string
	table  string    // where its rows go
	number string    // SQL for a row's number
	probes []request // sent before the first rows
	// probed checks an answer to a probe as the agent does.
	probed func(i int, r response) error
	// send composes the request for rows.
	send func(rows []int) request
	// again returns the rows that the agent sends again after an answer to them.
	again func(rows []int, r response) []int
}

// line is what an application logged.
func line(row int) string { return fmt.Sprintf(`level=info msg="order %d paid" n=%d`, row, row) }

// at is the time of a row, odd in nanoseconds.
func at(row int) time.Time {
	return time.Now().Add(-time.Minute).Truncate(time.Second).Add(time.Duration(row)*time.Millisecond + 7)
}

func all() []agent {
	return []agent{
		promtail(), alloy(), vectorLoki(), fluentBitLoki(),
		filebeat(), logstash(), logstashLifecycle(), logstashDataStream(), vector(), fluentBit(),
	}
}

// headers joins parts of a request's headers.
func headers(parts ...[]string) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// goHeaders are the headers of a request with a body in the order in which Go's client writes them; more are in alphabetical order.
func goHeaders(agent string, more ...string) []string {
	return headers([]string{"Host: HOST", "User-Agent: " + agent, "Content-Length: LENGTH"}, more, []string{"Accept-Encoding: gzip"})
}

// goHeadersGet are those of a request without a body.
func goHeadersGet(agent string, more ...string) []string {
	return headers([]string{"Host: HOST", "User-Agent: " + agent}, more, []string{"Accept-Encoding: gzip"})
}

func gzipped(data []byte) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(data)
	_ = z.Close() // memory does not fail
	return packed.Bytes()
}

// hyper are the headers of Vector's HTTP library, which writes names in lower case: those that the sink sets, the client's own, and what
// the library adds.
func hyper(sink []string, body bool) []string {
	client := []string{"user-agent: Vector/0.58.0 (x86_64-unknown-linux-gnu)"}
	if !strings.Contains(strings.Join(sink, "\n"), "accept-encoding:") {
		client = append(client, "accept-encoding: identity")
	}
	client = append(client, "host: HOST")
	if body {
		client = append(client, "content-length: LENGTH")
	}
	return headers(sink, client)
}

// okOrFail is the check of a probe that has to be answered 200.
func okOrFail(i int, r response) error {
	if r.status != 200 {
		return fmt.Errorf("probe %d: status %d", i, r.status)
	}
	return nil
}
