package agents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// documents are a bulk request's lines: the action, then the document.
func documents(rows []int, action func(row int) string, more string) []byte {
	var b bytes.Buffer
	for _, row := range rows {
		stamp := at(row).UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(&b, "%s\n{\"@timestamp\":%q,\"n\":%d,\"message\":%q%s}\n", action(row), stamp, row, line(row), more)
	}
	return b.Bytes()
}

// filebeat is Filebeat with setup.template.overwrite, which asks the most.
func filebeat() agent {
	const userAgent = "Elastic-Filebeat/8.17.0 (linux; amd64; Unmanaged)"
	origin := []string{"X-Elastic-Product-Origin: beats", "X-Scope-Orgid: " + org}
	get := goHeadersGet(userAgent, headers([]string{"Accept: application/json"}, origin)...)
	write := goHeaders(userAgent, headers([]string{
		"Accept: application/json", "Content-Encoding: gzip", "Content-Type: application/json; charset=UTF-8",
	}, origin)...)
	return agent{
		name: "filebeat", table: `"filebeat-8.17.0"`, number: "n",
		probes: []request{
			{"GET / HTTP/1.1", get, nil},
			{"GET /_license?human=false HTTP/1.1", get, nil},
			{"GET /_ilm/policy/filebeat HTTP/1.1", get, nil},
			{"HEAD /_index_template/filebeat-8.17.0 HTTP/1.1", get, nil},
			{
				"PUT /_index_template/filebeat-8.17.0 HTTP/1.1", write,
				gzipped([]byte(`{"data_stream":{},"index_patterns":["filebeat-8.17.0"],"priority":150}` + "\n")),
			},
			{"GET /_data_stream/filebeat-8.17.0 HTTP/1.1", get, nil},
		},
		probed: filebeatProbed,
		send: func(rows []int) request {
			action := func(row int) string { return fmt.Sprintf(`{"create":{"_index":"filebeat-8.17.0","_id":"id-%d"}}`, row) }
			return request{
				"POST /_bulk?filter_path=errors%2Citems.%2A.error%2Citems.%2A.status HTTP/1.1", write, gzipped(documents(rows, action,
					`,"log":{"offset":0,"file":{"path":"/var/log/shop.log"}},"ecs":{"version":"8.0.0"},"agent":{"type":"filebeat"}`)),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status != 200 {
				return rows
			}
			return itemsAgain(rows, r, func(status int) bool { return status == 429 || status >= 500 })
		},
	}
}

func filebeatProbed(i int, r response) error {
	if r.status >= 300 {
		return fmt.Errorf("probe %d: status %d", i, r.status)
	}
	switch i {
	case 0:
		return version(r)
	case 1:
		var b struct {
			License struct{ Type, Status, UID string }
		}
		if err := json.Unmarshal(r.body, &b); err != nil || b.License.Status != "active" || b.License.Type == "" {
			return fmt.Errorf("license %+v: %w", b, err)
		}
	}
	return nil
}

func version(r response) error {
	var b struct{ Version struct{ Number string } }
	if err := json.Unmarshal(r.body, &b); err != nil {
		return err
	}
	if !strings.HasPrefix(b.Version.Number, "8.") || r.header.Get("X-Elastic-Product") != "Elasticsearch" {
		return fmt.Errorf("version %q, product %q", b.Version.Number, r.header.Get("X-Elastic-Product"))
	}
	return nil
}

// itemsAgain returns the rows whose items have a status that retry says to send again, and all rows when the answer has not an item a
// row.
func itemsAgain(rows []int, r response, retry func(status int) bool) []int {
	var b struct {
		Items []map[string]struct{ Status int }
	}
	if err := json.Unmarshal(r.body, &b); err != nil || len(b.Items) != len(rows) {
		return rows
	}
	var out []int
	for i, item := range b.Items {
		for _, v := range item {
			if len(item) != 1 || retry(v.Status) {
				out = append(out, rows[i])
			}
		}
	}
	return out
}

// logstash is Logstash with an index of its own name, so without data streams and lifecycle policies.
func logstash() agent {
	return logstashOutput("logstash", "shop-logstash", func(index string) string {
		return fmt.Sprintf(`{"index":{"_id":null,"_index":%q,"routing":null}}`, index)
	}, "", "HEAD /_index_template/ecs-logstash")
}

// logstashLifecycle is Logstash with data_stream => false and no index: it writes to an alias that its lifecycle policy rolls over. An
// alias and a policy that are there are left alone.
func logstashLifecycle() agent {
	return logstashOutput("logstash with a lifecycle", "ecs-logstash", func(index string) string {
		return fmt.Sprintf(`{"index":{"_id":null,"_index":%q,"routing":null}}`, index)
	}, "", "HEAD /_index_template/ecs-logstash", "HEAD /ecs-logstash", "GET /_ilm/policy/logstash-policy")
}

// logstashDataStream is Logstash 8 with hosts alone: it writes to a data stream, whose template it takes as given.
func logstashDataStream() agent {
	return logstashOutput("logstash with a data stream", "logs-generic-default", func(index string) string {
		return fmt.Sprintf(`{"create":{"_id":null,"_index":%q,"routing":null}}`, index)
	}, `,"data_stream":{"type":"logs","dataset":"generic","namespace":"default"}`)
}

// logstashOutput is Logstash's Elasticsearch output: the index that it writes to, the action of a document, what it adds to it, and what
// it asks once it knows the server.
func logstashOutput(name, index string, action func(index string) string, more string, asks ...string) agent {
	const userAgent = "Logstash/8.17.0 (OS=Linux-6.1.0-amd64; JVM=Eclipse Adoptium-21.0.5) logstash-output-elasticsearch/12.1.6"
	client := []string{"Content-Type: application/json", "x-elastic-product-origin: logstash-output-elasticsearch", "X-Scope-OrgID: " + org}
	library := []string{"Host: HOST", "User-Agent: " + userAgent, "Accept-Encoding: gzip,deflate"}
	get := headers([]string{"Connection: Keep-Alive"}, client, library)
	probes := []request{
		{"HEAD / HTTP/1.1", get, nil},
		{"GET / HTTP/1.1", get, nil},
		{"GET /_license HTTP/1.1", get, nil},
		{"GET / HTTP/1.1", get, nil}, // for the cluster's id
	}
	for _, ask := range asks {
		probes = append(probes, request{ask + " HTTP/1.1", get, nil})
	}
	return agent{
		name: name, table: fmt.Sprintf("%q", index), number: "n", probes: probes, probed: logstashProbed,
		send: func(rows []int) request {
			body := documents(rows, func(int) string { return action(index) }, `,"@version":"1","event":{"original":"x"}`+more)
			first := []string{
				"Connection: Keep-Alive", fmt.Sprintf("X-Elastic-Event-Count: %d", len(rows)),
				fmt.Sprintf("X-Elastic-Uncompressed-Request-Length: %d", len(body)), "Content-Encoding: gzip",
			}
			return request{
				"POST /_bulk?filter_path=errors,items.*.error,items.*.status HTTP/1.1",
				headers(first, client, []string{"Content-Length: LENGTH"}, library), gzipped(body),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status < 200 || r.status > 299 {
				return rows // but a 413 counts as the documents' own and drops them
			}
			return itemsAgain(rows, r, func(status int) bool {
				return status != 200 && status != 201 && status != 409 && status != 400 && status != 404
			})
		},
	}
}

func logstashProbed(i int, r response) error {
	if err := okOrFail(i, r); err != nil {
		return err
	}
	switch i {
	case 1, 3:
		return version(r)
	case 2:
		if !bytes.Contains(r.body, []byte(`"status":"active"`)) {
			return fmt.Errorf("license %s", r.body)
		}
	}
	return nil
}

// vector is Vector's elasticsearch sink.
func vector() agent {
	tenant := []string{"x-scope-orgid: " + org}
	return agent{
		name: "vector", table: `"vector-logs"`, number: "n",
		probes: []request{
			{"GET / HTTP/1.1", hyper(tenant, false), nil},
			{"GET /_cluster/health HTTP/1.1", hyper(tenant, false), nil},
		},
		probed: func(i int, r response) error {
			if i == 0 {
				return version(r)
			}
			return okOrFail(i, r)
		},
		send: func(rows []int) request {
			action := func(int) string { return `{"index":{"_index":"vector-logs"}}` }
			return request{
				"POST /_bulk?timeout=60s HTTP/1.1", hyper(headers([]string{"content-type: application/x-ndjson"}, tenant), true),
				documents(rows, action, `,"source_type":"file"`),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status == 429 || r.status >= 500 && r.status != 501 {
				return rows
			}
			return nil // with items that failed too, unless request_retry_partial is set
		},
	}
}

// fluentBit is Fluent Bit's es output. It cannot be told to send a header of the user's, so the org stands behind its own, as a gateway
// adds it.
func fluentBit() agent {
	return agent{
		name: "fluent-bit", table: `"fluent-bit"`, number: "n",
		send: func(rows []int) request {
			action := func(int) string { return `{"create":{"_index":"fluent-bit","_type":"_doc"}}` }
			return request{
				"POST /_bulk HTTP/1.1", []string{
					"Host: HOST", "Content-Length: LENGTH", "Content-Type: application/x-ndjson", "User-Agent: Fluent-Bit", "Connection: keep-alive",
					"X-Scope-OrgID: " + org,
				}, documents(rows, action, ""),
			}
		},
		again: fluentBitAgain,
	}
}

// fluentBitAgain sends a whole batch again unless there were no errors or at least one item is in.
func fluentBitAgain(rows []int, r response) []int {
	if r.status != 200 && r.status != 201 || len(r.body) == 0 {
		return rows
	}
	var b struct {
		Errors *bool
		Items  []map[string]struct{ Status int }
	}
	if err := json.Unmarshal(r.body, &b); err != nil {
		return rows
	}
	if b.Errors != nil && !*b.Errors {
		return nil
	}
	for _, item := range b.Items {
		for _, v := range item {
			if v.Status == 200 || v.Status == 201 {
				return nil
			}
		}
	}
	return rows
}
