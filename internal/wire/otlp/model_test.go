package otlp_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"pgregory.net/rapid"
)

// The model is the mapping of docs/protocol/otlp.md written over pdata the plain way, without clashes of names.

// modelValue adds an attribute under its name, flattened.
func modelValue(row map[string]string, name string, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeMap:
		if v.Map().Len() == 0 {
			row[name] = "json {}"
		}
		for k, e := range v.Map().All() {
			modelValue(row, name+"."+k, e)
		}
	default:
		row[name] = modelCell(v)
	}
}

// modelCell is a value that is not flattened.
func modelCell(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return "string " + v.Str()
	case pcommon.ValueTypeBool:
		return "bool " + strconv.FormatBool(v.Bool())
	case pcommon.ValueTypeInt:
		return "int64 " + strconv.FormatInt(v.Int(), 10)
	case pcommon.ValueTypeDouble:
		return "float64 " + strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case pcommon.ValueTypeBytes:
		return "string " + base64.StdEncoding.EncodeToString(v.Bytes().AsRaw())
	default:
		return "json " + mustJSON(modelJSON(v))
	}
}

func modelJSON(v pcommon.Value) any {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return v.Str()
	case pcommon.ValueTypeBool:
		return v.Bool()
	case pcommon.ValueTypeInt:
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case pcommon.ValueTypeDouble:
		return modelDouble(v.Double())
	case pcommon.ValueTypeBytes:
		return base64.StdEncoding.EncodeToString(v.Bytes().AsRaw())
	case pcommon.ValueTypeMap:
		return modelObject(v.Map())
	case pcommon.ValueTypeSlice:
		list := []any{}
		for _, e := range v.Slice().All() {
			list = append(list, modelJSON(e))
		}
		return list
	default:
		return nil
	}
}

func modelObject(m pcommon.Map) map[string]any {
	out := map[string]any{}
	for k, e := range m.All() {
		out[k] = modelJSON(e)
	}
	return out
}

func modelDouble(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	default:
		return json.Number(plainNumber(strconv.FormatFloat(f, 'g', -1, 64)))
	}
}

// plainNumber gives equal numbers equal texts.
func plainNumber(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	f, _ := strconv.ParseFloat(s, 64)
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// plainJSON rewrites the JSON cells of rows so that equal values have equal texts.
func plainJSON(rows []map[string]string) []map[string]string {
	for _, row := range rows {
		for name, cell := range row {
			if text, ok := strings.CutPrefix(cell, "json "); ok {
				d := json.NewDecoder(strings.NewReader(text))
				d.UseNumber()
				var v any
				if err := d.Decode(&v); err != nil {
					panic(err)
				}
				row[name] = "json " + mustJSON(plainNumbers(v))
			}
		}
	}
	return rows
}

func plainNumbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		return json.Number(plainNumber(x.String()))
	case []any:
		for i := range x {
			x[i] = plainNumbers(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = plainNumbers(x[k])
		}
	}
	return v
}

// Generators.

func genAttributes(t *rapid.T, m pcommon.Map, depth int) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "ü", "_c", "d\"\n"}), 0, 4, rapid.ID).Draw(t, "names") {
		genValue(t, m.PutEmpty(name), depth)
	}
}

func genValue(t *rapid.T, v pcommon.Value, depth int) {
	kinds := 6
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
	case 1, 2:
		v.SetStr(rapid.String().Draw(t, "str"))
	case 3:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case 4:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case 5:
		if rapid.Bool().Draw(t, "bytes") {
			v.SetEmptyBytes().FromRaw(rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "raw"))
		} else {
			v.SetDouble(genDouble(t))
		}
	case 6:
		genAttributes(t, v.SetEmptyMap(), depth-1)
	case 7:
		list := v.SetEmptySlice()
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			genValue(t, list.AppendEmpty(), depth-1)
		}
	}
}

func genDouble(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 3, math.NaN(), math.Inf(1), math.Inf(-1), 1e300})).Draw(t, "double")
}

// genNanos draws a time, sometimes none.
func genNanos(t *rapid.T) pcommon.Timestamp {
	return pcommon.Timestamp(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, math.MaxInt64)).Draw(t, "nanos"))
}

func genID(t *rapid.T, n int) []byte {
	id := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "id")
	id[n-1] |= 1
	return id
}

func genTraceID(t *rapid.T) pcommon.TraceID { return pcommon.TraceID(genID(t, 16)) }

func genSpanID(t *rapid.T) pcommon.SpanID { return pcommon.SpanID(genID(t, 8)) }

// Cells.

func (m model) text(name, v string) {
	if v != "" {
		m[name] = "string " + v
	}
}

func (m model) id(name string, id []byte) {
	if strings.Trim(string(id), "\x00") != "" {
		m[name] = "string " + hex.EncodeToString(id)
	}
}

func (m model) count(name string, n int64) {
	if n != 0 {
		m[name] = "int64 " + strconv.FormatInt(n, 10)
	}
}

func (m model) micros(name string, nanos pcommon.Timestamp) {
	if nanos != 0 {
		m[name] = "timestamp " + strconv.FormatUint(uint64(nanos)/1000, 10)
	}
}

// at sets the time: the first that is not 0, else the time of receipt.
func (m model) at(times ...pcommon.Timestamp) {
	m["_t"] = strconv.FormatInt(receivedNanos, 10)
	for _, t := range times {
		if t != 0 {
			m["_t"] = strconv.FormatUint(uint64(t), 10)
			return
		}
	}
}

// group is what all rows of a resource and scope have.
func (m model) group(res pcommon.Resource, resURL string, scope pcommon.InstrumentationScope, scopeURL string) {
	for k, v := range res.Attributes().All() {
		modelValue(m, "resource."+k, v)
	}
	for k, v := range scope.Attributes().All() {
		modelValue(m, "scope."+k, v)
	}
	m.text("resource.schema_url", resURL)
	m.text("scope.schema_url", scopeURL)
	m.text("scope.name", scope.Name())
	m.text("scope.version", scope.Version())
	m.count("resource.dropped_attributes_count", int64(res.DroppedAttributesCount()))
	m.count("scope.dropped_attributes_count", int64(scope.DroppedAttributesCount()))
}

func (m model) attributes(attributes pcommon.Map) {
	for k, v := range attributes.All() {
		if strings.HasPrefix(k, "_") {
			k = "_user" + k
		}
		modelValue(m, k, v)
	}
}

type model map[string]string
