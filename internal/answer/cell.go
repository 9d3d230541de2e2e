package answer

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/signal"
)

// TypeKey is the key of the field metadata that names a column's type as the engine spells it.
const TypeKey = "duckdb.type"

// TypeName returns the engine's name of a column's type, Arrow's where none is given.
func TypeName(f arrow.Field) string {
	if name, ok := f.Metadata.GetValue(TypeKey); ok {
		return name
	}
	return f.Type.String()
}

// appendJSON appends the value at row as JSON.
func appendJSON(dst []byte, a arrow.Array, row int, engineType string) []byte {
	if a.IsNull(row) {
		return append(dst, "null"...)
	}
	switch a := a.(type) {
	case *array.Null:
		return append(dst, "null"...)
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(row))
	case *array.Float32:
		return appendFloat(dst, float64(a.Value(row)), 32)
	case *array.Float64:
		return appendFloat(dst, a.Value(row), 64)
	case *array.List:
		return appendList(dst, a, row)
	case *array.Struct:
		return appendStruct(dst, a, row)
	case *array.Map:
		return appendMap(dst, a, row)
	case *array.Decimal128:
		if engineType == "HUGEINT" {
			return append(dst, a.Value(row).BigInt().String()...)
		}
	}
	if isInteger(a.DataType().ID()) {
		return appendText(dst, a, row)
	}
	return signal.AppendJSONString(dst, appendText(nil, a, row))
}

func isInteger(t arrow.Type) bool { return t >= arrow.UINT8 && t <= arrow.INT64 }

func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"+Inf"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Inf"`...)
	}
	return appendPlainFloat(dst, v, bits)
}

// appendPlainFloat writes whole numbers without an exponent up to 1e21, as JavaScript does.
func appendPlainFloat(dst []byte, v float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

func appendList(dst []byte, a *array.List, row int) []byte {
	start, end := a.ValueOffsets(row)
	typ := TypeName(a.DataType().(*arrow.ListType).ElemField()) //nolint:forcetypeassert // a List has a ListType
	dst = append(dst, '[')
	for i := start; i < end; i++ {
		if i > start {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, a.ListValues(), int(i), typ)
	}
	return append(dst, ']')
}

func appendStruct(dst []byte, a *array.Struct, row int) []byte {
	fields := a.DataType().(*arrow.StructType).Fields() //nolint:forcetypeassert // a Struct has a StructType
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = signal.AppendJSONString(dst, []byte(f.Name))
		dst = append(dst, ':')
		dst = appendJSON(dst, a.Field(i), row, TypeName(f))
	}
	return append(dst, '}')
}

// appendMap writes a map of text keys as an object, any other as a list of key and value.
func appendMap(dst []byte, a *array.Map, row int) []byte {
	start, end := a.ValueOffsets(row)
	typ := a.DataType().(*arrow.MapType) //nolint:forcetypeassert // a Map has a MapType
	text := typ.KeyType().ID() == arrow.STRING
	open, closing := byte('['), byte(']')
	if text {
		open, closing = '{', '}'
	}
	dst = append(dst, open)
	for i := start; i < end; i++ {
		if i > start {
			dst = append(dst, ',')
		}
		if !text {
			dst = append(dst, '[')
		}
		dst = appendJSON(dst, a.Keys(), int(i), TypeName(typ.KeyField()))
		if text {
			dst = append(dst, ':')
		} else {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, a.Items(), int(i), TypeName(typ.ItemField()))
		if !text {
			dst = append(dst, ']')
		}
	}
	return append(dst, closing)
}

// appendText appends the value at row as text, without quotes. A null is nothing.
func appendText(dst []byte, a arrow.Array, row int) []byte {
	if a.IsNull(row) {
		return dst
	}
	switch a := a.(type) {
	case *array.String:
		return append(dst, a.Value(row)...)
	case *array.Binary:
		return base64.StdEncoding.AppendEncode(dst, a.Value(row))
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(row))
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(row), 10)
	case *array.Float32:
		return appendTextFloat(dst, float64(a.Value(row)), 32)
	case *array.Float64:
		return appendTextFloat(dst, a.Value(row), 64)
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale //nolint:forcetypeassert // a Decimal128 has its type
		return append(dst, a.Value(row).ToString(scale)...)
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit //nolint:forcetypeassert // a Timestamp has its type
		return appendTime(dst, int64(a.Value(row)), unit)
	case *array.Date32:
		return appendDate(dst, int32(a.Value(row)))
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit //nolint:forcetypeassert // a Time64 has its type
		return a.Value(row).ToTime(unit).AppendFormat(dst, "15:04:05.999999999")
	case *array.List, *array.Struct, *array.Map:
		return appendJSON(dst, a, row, "")
	default:
		return append(dst, a.ValueStr(row)...)
	}
}

func appendTextFloat(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, strings.Trim(string(appendFloat(nil, v, bits)), `"`)...)
	}
	return appendPlainFloat(dst, v, bits)
}

func appendTime(dst []byte, v int64, unit arrow.TimeUnit) []byte {
	switch v {
	case math.MaxInt64:
		return append(dst, "infinity"...)
	case -math.MaxInt64:
		return append(dst, "-infinity"...)
	}
	return arrow.Timestamp(v).ToTime(unit).UTC().AppendFormat(dst, time.RFC3339Nano)
}

func appendDate(dst []byte, days int32) []byte {
	switch days {
	case math.MaxInt32:
		return append(dst, "infinity"...)
	case -math.MaxInt32:
		return append(dst, "-infinity"...)
	}
	return time.Unix(int64(days)*86400, 0).UTC().AppendFormat(dst, time.DateOnly)
}
