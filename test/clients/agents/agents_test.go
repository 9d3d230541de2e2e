package agents_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
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
	return []agent{promtail(), alloy(), filebeat(), logstash(), vector(), fluentBit()}
}

// goHeaders are headers in the order in which Go's client writes them.
func goHeaders(agent string, more ...string) []string {
	return append(append([]string{"Host: HOST", "User-Agent: " + agent, "Content-Length: LENGTH"}, more...), "Accept-Encoding: gzip")
}

func promtail() agent {
	return agent{
		name: "promtail", table: "loki_logs WHERE job = 'promtail'", number: "regexp_extract(message, 'n=(\\d+)', 1)",
		send: func(rows []int) request {
			return request{
				"POST /loki/api/v1/push HTTP/1.1", goHeaders("promtail/2.9.2", "Content-Type: application/x-protobuf", "X-Scope-Orgid: "+org),
				pushRequest(`{filename="/var/log/shop.log", job="promtail"}`, rows, nil),
			}
		},
		again: lokiAgain,
	}
}

func alloy() agent {
	return agent{
		name: "alloy", table: "loki_logs WHERE job = 'alloy'", number: "row_number",
		send: func(rows []int) request {
			metadata := func(row int) [][2]string {
				return [][2]string{{"row_number", fmt.Sprint(row)}, {"trace_id", "0af7651916cd43dd8448eb211c80319c"}}
			}
			return request{
				"POST /loki/api/v1/push HTTP/1.1",
				goHeaders("Alloy/v1.12.0 (linux; binary)", "Content-Type: application/x-protobuf", "X-Scope-Orgid: "+org),
				pushRequest(`{job="alloy", service_name="shop"}`, rows, metadata),
			}
		},
		again: lokiAgain,
	}
}

// pushRequest is a batch of one stream as a snappy block.
func pushRequest(labels string, rows []int, metadata func(row int) [][2]string) []byte {
	stream := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), labels)
	for _, row := range rows {
		t := at(row)
		stamp := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(t.Unix()))
		stamp = protowire.AppendVarint(protowire.AppendTag(stamp, 2, protowire.VarintType), uint64(t.Nanosecond()))
		entry := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), stamp)
		entry = protowire.AppendString(protowire.AppendTag(entry, 2, protowire.BytesType), line(row))
		if metadata != nil {
			for _, pair := range metadata(row) {
				p := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), pair[0])
				p = protowire.AppendString(protowire.AppendTag(p, 2, protowire.BytesType), pair[1])
				entry = protowire.AppendBytes(protowire.AppendTag(entry, 3, protowire.BytesType), p)
			}
		}
		stream = protowire.AppendBytes(protowire.AppendTag(stream, 2, protowire.BytesType), entry)
	}
	return snappy.Encode(nil, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), stream))
}

func lokiAgain(rows []int, r response) []int {
	if r.status == 429 || r.status/100 == 5 {
		return rows
	}
	return nil
}

// documents are a bulk request's lines: the action, then the document.
func documents(rows []int, action func(row int) string, more string) []byte {
	var b bytes.Buffer
	for _, row := range rows {
		stamp := at(row).UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(&b, "%s\n{\"@timestamp\":%q,\"n\":%d,\"message\":%q%s}\n", action(row), stamp, row, line(row), more)
	}
	return b.Bytes()
}

func filebeat() agent {
	get := goHeadersGet("Filebeat/8.17.0", "Accept: application/json")
	return agent{
		name: "filebeat", table: `"filebeat-8.17.0"`, number: "n",
		probes: []request{
			{"GET / HTTP/1.1", get, nil},
			{"GET /_license?human=false HTTP/1.1", get, nil},
			{"GET /_ilm/policy/filebeat HTTP/1.1", get, nil},
			{"HEAD /_index_template/filebeat-8.17.0 HTTP/1.1", get, nil},
			{
				"PUT /_index_template/filebeat-8.17.0 HTTP/1.1", goHeaders("Filebeat/8.17.0", "Accept: application/json",
					"Content-Type: application/json; charset=UTF-8", "X-Scope-Orgid: "+org),
				[]byte(`{"index_patterns":["filebeat-8.17.0"],"data_stream":{},"priority":150}` + "\n"),
			},
		},
		probed: func(i int, r response) error {
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
		},
		send: func(rows []int) request {
			action := func(row int) string { return fmt.Sprintf(`{"create":{"_index":"filebeat-8.17.0","_id":"id-%d"}}`, row) }
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, _ = z.Write(documents(rows, action,
				`,"log":{"offset":0,"file":{"path":"/var/log/shop.log"}},"ecs":{"version":"8.0.0"},"agent":{"type":"filebeat"}`))
			_ = z.Close() // memory does not fail
			const filter = "errors%2Citems.index.status%2Citems.index.error%2Citems.create.status%2Citems.create.error"
			return request{
				"POST /_bulk?filter_path=" + filter + " HTTP/1.1", goHeaders("Filebeat/8.17.0", "Accept: application/json", "Content-Encoding: gzip",
					"Content-Type: application/json; charset=UTF-8", "X-Scope-Orgid: "+org), packed.Bytes(),
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

func goHeadersGet(agent string, more ...string) []string {
	return append(append([]string{"Host: HOST", "User-Agent: " + agent}, append(more, "X-Scope-Orgid: "+org)...), "Accept-Encoding: gzip")
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

func logstash() agent {
	headers := func(more ...string) []string {
		first := append([]string{"Connection: Keep-Alive", "X-Scope-OrgID: " + org}, more...)
		return append(first, "Host: HOST", "User-Agent: Manticore 0.9.1", "Accept-Encoding: gzip,deflate")
	}
	return agent{
		name: "logstash", table: `"ecs-logstash"`, number: "n",
		probes: []request{
			{"HEAD / HTTP/1.1", headers(), nil},
			{"GET / HTTP/1.1", headers(), nil},
			{"GET /_license HTTP/1.1", headers(), nil},
			{"HEAD /_index_template/ecs-logstash HTTP/1.1", headers(), nil},
		},
		probed: func(i int, r response) error {
			if r.status != 200 {
				return fmt.Errorf("probe %d: status %d", i, r.status)
			}
			if i == 1 {
				return version(r)
			}
			return nil
		},
		send: func(rows []int) request {
			action := func(int) string { return `{"index":{"_id":null,"_index":"ecs-logstash","_type":"doc","routing":null}}` }
			return request{
				"POST /_bulk HTTP/1.1", headers("Content-Type: application/json", "Content-Length: LENGTH"),
				documents(rows, action, `,"@version":"1","event":{"original":"x"}`),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status != 200 {
				return rows
			}
			return itemsAgain(rows, r, func(status int) bool {
				return status != 200 && status != 201 && status != 409 && status != 400 && status != 404
			})
		},
	}
}

func vector() agent {
	return agent{
		name: "vector", table: `"vector-logs"`, number: "n",
		probes: []request{{
			"GET /_cluster/health HTTP/1.1", []string{"x-scope-orgid: " + org, "user-agent: Vector/0.46.1", "accept: */*", "host: HOST"}, nil,
		}},
		probed: func(i int, r response) error {
			if r.status != 200 {
				return fmt.Errorf("probe %d: status %d", i, r.status)
			}
			return nil
		},
		send: func(rows []int) request {
			action := func(int) string { return `{"index":{"_index":"vector-logs"}}` }
			return request{
				"POST /_bulk?timeout=60s HTTP/1.1", []string{
					"content-type: application/x-ndjson", "x-scope-orgid: " + org, "user-agent: Vector/0.46.1", "accept-encoding: identity", "host: HOST",
					"content-length: LENGTH",
				}, documents(rows, action, `,"source_type":"file"`),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status == 429 || r.status >= 500 && r.status != 501 {
				return rows
			}
			return nil
		},
	}
}

func fluentBit() agent {
	return agent{
		name: "fluent-bit", table: `"fluent-bit"`, number: "n",
		send: func(rows []int) request {
			action := func(int) string { return `{"create":{"_index":"fluent-bit","_type":"doc"}}` }
			return request{
				"POST /_bulk HTTP/1.1", []string{
					"Host: HOST", "Content-Length: LENGTH", "User-Agent: Fluent-Bit", "Content-Type: application/x-ndjson", "X-Scope-OrgID: " + org,
				}, documents(rows, action, ""),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status != 200 || !bytes.Contains(r.body, []byte(`"errors":false`)) {
				return rows
			}
			return nil
		},
	}
}
