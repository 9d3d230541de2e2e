package agents_test

import (
	"fmt"
	"strings"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

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

// metadata are structured metadata of a row.
func metadata(row int) [][2]string {
	return [][2]string{{"row_number", fmt.Sprint(row)}, {"trace_id", "0af7651916cd43dd8448eb211c80319c"}}
}

func alloy() agent {
	return agent{
		name: "alloy", table: "loki_logs WHERE job = 'alloy'", number: "row_number",
		send: func(rows []int) request {
			return request{
				"POST /loki/api/v1/push HTTP/1.1",
				goHeaders("Alloy/v1.12.0 (linux; binary)", "Content-Encoding: snappy", "Content-Type: application/x-protobuf",
					"X-Scope-Orgid: "+org),
				pushRequest(`{job="alloy", service_name="shop"}`, rows, metadata),
			}
		},
		again: lokiAgain,
	}
}

// vectorLoki is Vector's loki sink with its default compression.
func vectorLoki() agent {
	return agent{
		name: "vector (loki)", table: "loki_logs WHERE job = 'vector'", number: "row_number",
		probes: []request{{"GET /ready HTTP/1.1", hyper(nil, false), nil}},
		probed: okOrFail,
		send: func(rows []int) request {
			sink := []string{"content-type: application/x-protobuf", "x-scope-orgid: " + org, "content-encoding: snappy"}
			return request{"POST /loki/api/v1/push HTTP/1.1", hyper(sink, true), pushRequest(`{job="vector"}`, rows, metadata)}
		},
		again: func(rows []int, r response) []int {
			if r.status == 429 || r.status/100 == 5 && r.status != 501 {
				return rows
			}
			return nil
		},
	}
}

// fluentBitLoki is Fluent Bit's loki output, which sends JSON.
func fluentBitLoki() agent {
	return agent{
		name: "fluent-bit (loki)", table: "loki_logs WHERE job = 'fluent-bit'", number: "row_number",
		send: func(rows []int) request {
			var values []string
			for _, row := range rows {
				values = append(values, fmt.Sprintf(`["%d",%q,{"row_number":"%d"}]`, at(row).UnixNano(), line(row), row))
			}
			body := `{"streams":[{"stream":{"job":"fluent-bit"},"values":[` + strings.Join(values, ",") + `]}]}`
			return request{
				"POST /loki/api/v1/push HTTP/1.1", []string{
					"Host: HOST", "Content-Length: LENGTH", "User-Agent: Fluent-Bit", "Content-Type: application/json", "X-Scope-OrgID: " + org,
					"Connection: keep-alive",
				}, []byte(body),
			}
		},
		again: func(rows []int, r response) []int {
			if r.status != 400 && (r.status < 200 || r.status > 205) {
				return rows
			}
			return nil
		},
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
