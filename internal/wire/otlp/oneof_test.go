package otlp_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/wire/otlp"
)

// pb is a protobuf message written field by field, so that it can hold what no generated code writes.
type pb []byte

func (p pb) bytes(num protowire.Number, raw []byte) pb {
	return protowire.AppendBytes(protowire.AppendTag(p, num, protowire.BytesType), raw)
}

func (p pb) text(num protowire.Number, s string) pb { return p.bytes(num, []byte(s)) }

func (p pb) varint(num protowire.Number, v uint64) pb {
	return protowire.AppendVarint(protowire.AppendTag(p, num, protowire.VarintType), v)
}

func (p pb) fixed64(num protowire.Number, v uint64) pb {
	return protowire.AppendFixed64(protowire.AppendTag(p, num, protowire.Fixed64Type), v)
}

func (p pb) double(num protowire.Number, f float64) pb { return p.fixed64(num, math.Float64bits(f)) }

// inRequest puts a record under a resource and scope.
func inRequest(record pb, more ...func(resource pb) pb) []byte {
	resource := pb{}.bytes(2, pb{}.bytes(2, record))
	for _, add := range more {
		resource = add(resource)
	}
	return pb{}.bytes(1, resource)
}

// TestOneofOfAnyValue checks that the last member of the oneof on the wire is the value.
func TestOneofOfAnyValue(t *testing.T) {
	t.Parallel()
	list := pb{}.bytes(1, pb{}.text(1, "in the list"))
	object := pb{}.bytes(1, pb{}.text(1, "key").bytes(2, pb{}.varint(3, 5)))
	for _, c := range []struct {
		name  string
		value pb
		want  string // of the column, "" = no value
	}{
		{"text, int", pb{}.text(1, "a").varint(3, 7), "int64 7"},
		{"int, text", pb{}.varint(3, 7).text(1, "a"), "string a"},
		{"text, bool", pb{}.text(1, "a").varint(2, 1), "bool true"},
		{"list, double", pb{}.bytes(5, list).double(4, 2.5), "float64 2.5"},
		{"text, list", pb{}.text(1, "a").bytes(5, list), `json ["in the list"]`},
		{"list, list", pb{}.bytes(5, list).bytes(5, list), `json ["in the list"]`},
		{"object, list", pb{}.bytes(6, object).bytes(5, list), `json ["in the list"]`},
		{"list, object", pb{}.bytes(5, list).bytes(6, object), `json {"key":5}`},
		{"object, bytes", pb{}.bytes(6, object).bytes(7, []byte{1}), "string AQ=="},
		{"text, index", pb{}.text(1, "a").varint(8, 3), ""},
		{"index, text", pb{}.varint(8, 3).text(1, "a"), "string a"},
	} {
		body := inRequest(pb{}.fixed64(1, receivedNanos).bytes(5, c.value))
		rows, res, err := decode(t, otlp.DecodeLogs, body, otlp.Protobuf, options())
		require.NoError(t, err, c.name)
		require.Equal(t, 1, res.Accepted, c.name)
		require.Equal(t, c.want, rows[0]["message"], c.name)
	}
}

// TestOneofOfBody checks that a message field that stands twice is one message with the fields of both.
func TestOneofOfBody(t *testing.T) {
	t.Parallel()
	body := inRequest(pb{}.bytes(5, pb{}.text(1, "a")).bytes(5, nil))
	rows, _, err := decode(t, otlp.DecodeLogs, body, otlp.Protobuf, options())
	require.NoError(t, err)
	require.Equal(t, "string a", rows[0]["message"])
}

// TestOneofOfNumbers checks data points and exemplars that carry an integer and a double.
func TestOneofOfNumbers(t *testing.T) {
	t.Parallel()
	both := map[string]struct {
		point, exemplar pb
	}{
		"value":  {pb{}.fixed64(6, 5).double(4, 2.5), pb{}.fixed64(6, 5).double(3, 2.5)},
		"number": {pb{}.double(4, 2.5).fixed64(6, 5), pb{}.double(3, 2.5).fixed64(6, 5)},
	}
	want := map[string][2]string{
		"value":  {"float64 2.5", `json [{"asDouble":2.5}]`},
		"number": {"float64 5", `json [{"asInt":5}]`},
	}
	for name, c := range both {
		body := inRequest(pb{}.text(1, "m").bytes(5, pb{}.bytes(1, c.point.bytes(5, c.exemplar))))
		rows, _, err := decode(t, otlp.DecodeMetrics, body, otlp.Protobuf, options())
		require.NoError(t, err)
		require.Equal(t, want[name][0], rows[0]["value"], name)
		require.Equal(t, want[name][1], rows[0]["_exemplars"], name)
	}
}

// TestOneofOfMetricData checks metrics that carry data of two kinds, or of one kind twice: the last counts.
func TestOneofOfMetricData(t *testing.T) {
	t.Parallel()
	point := func(f float64) pb { return pb{}.double(4, f) }
	gauge := func(f float64) pb { return pb{}.bytes(1, point(f)) }
	sum := pb{}.varint(2, 1).bytes(1, point(3)).bytes(1, point(4)).varint(3, 1)
	for _, c := range []struct {
		name   string
		metric pb
		kind   string
		values []string
	}{
		{"gauge, sum", pb{}.bytes(5, gauge(1)).bytes(7, sum), "sum", []string{"float64 3", "float64 4"}},
		{"sum, gauge", pb{}.bytes(7, sum).bytes(5, gauge(1)), "gauge", []string{"float64 1"}},
		{"gauge, gauge", pb{}.bytes(5, gauge(1)).bytes(5, gauge(2)), "gauge", []string{"float64 2"}},
		{"sum, empty gauge", pb{}.bytes(7, sum).bytes(5, nil), "", nil},
	} {
		rows, res, err := decode(t, otlp.DecodeMetrics, inRequest(c.metric.text(1, "m")), otlp.Protobuf, options())
		require.NoError(t, err, c.name)
		require.Zero(t, res.Rejected, c.name)
		var values []string
		for _, row := range rows {
			values = append(values, row["value"])
			require.Equal(t, "string "+c.kind, row["_kind"], c.name)
			require.Equal(t, c.kind == "sum", row["_temporality"] == "string delta", "%s: %v", c.name, row)
		}
		require.Equal(t, c.values, values, c.name)
	}
	text := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":1}]},` +
		`"sum":{"dataPoints":[{"asInt":2}]}}]}]}]}`
	rows, _, err := decode(t, otlp.DecodeMetrics, []byte(text), otlp.JSON, options())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "string sum", rows[0]["_kind"])
}

// TestBrokenPartsThatAreNotKept checks that a message that leaves no trace in the rows is refused like any other when it is broken.
func TestBrokenPartsThatAreNotKept(t *testing.T) {
	t.Parallel()
	entity := func(ref pb) func(pb) pb {
		return func(resource pb) pb { return resource.bytes(1, pb{}.bytes(3, ref)) }
	}
	good := entity(pb{}.text(1, "url").text(2, "host").text(3, "host.id"))
	broken := entity(pb{}.text(1, "url").varint(2, 7))
	span := pb{}.bytes(1, []byte("0123456789abcdef")).bytes(2, []byte("01234567"))
	records := map[string]struct {
		decode decodeFunc
		record pb
	}{
		"logs":    {otlp.DecodeLogs, pb{}.bytes(5, pb{}.text(1, "a"))},
		"traces":  {otlp.DecodeTraces, span},
		"metrics": {otlp.DecodeMetrics, pb{}.text(1, "m").bytes(5, pb{}.bytes(1, pb{}.double(4, 1)))},
	}
	for name, r := range records {
		_, res, err := decode(t, r.decode, inRequest(r.record, good), otlp.Protobuf, options())
		require.NoError(t, err, name)
		require.Equal(t, 1, res.Accepted, name)
		_, _, err = decode(t, r.decode, inRequest(r.record, broken), otlp.Protobuf, options())
		requireInvalid(t, err, ".resource.entityRefs[0].type")
	}
	gauge := pb{}.bytes(1, pb{}.double(4, 1))
	point := func(kind protowire.Number, point pb) pb { return pb{}.bytes(kind, pb{}.bytes(1, point)) }
	for path, metric := range map[string]pb{
		"metadata[0].value.intValue":                                  pb{}.bytes(12, pb{}.bytes(2, pb{}.text(3, "x"))),
		"metrics[0].histogram.dataPoints[0].count":                    point(9, pb{}.text(4, "x")),
		"metrics[0].gauge.dataPoints[0].attributes[0].key":            point(5, pb{}.bytes(7, pb{}.varint(1, 1))),
		"exponentialHistogram.dataPoints[0].positive.offset":          point(10, pb{}.bytes(8, pb{}.text(1, "x"))),
		"sum.dataPoints[0].exemplars[0].filteredAttributes[0].value":  point(7, pb{}.bytes(5, pb{}.bytes(7, pb{}.varint(2, 1)))),
		"metrics[0].summary.dataPoints[0].quantileValues[0].quantile": point(11, pb{}.bytes(6, pb{}.varint(1, 1))),
	} {
		_, _, err := decode(t, otlp.DecodeMetrics, inRequest(metric.bytes(5, gauge).text(1, "m")), otlp.Protobuf, options())
		requireInvalid(t, err, path)
	}
}
