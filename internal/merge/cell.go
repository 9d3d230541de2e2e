package merge

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/millstream/millstream/internal/answer"
)

// ErrUnsupported says that parts cannot be put together exactly.
var ErrUnsupported = errors.New("the parts of the answer cannot be put together")

// form is how values of a column are held.
type form uint8

const (
	asInt     form = iota + 1 // whole numbers, times, truth
	asUint                    // unsigned ones
	asFloat                   // FLOAT, DOUBLE
	asDecimal                 // HUGEINT, DECIMAL
	asText                    // VARCHAR and what leaves the engine as text, BLOB
)

// column describes one column.
type column struct {
	arrow.Field

	form  form
	scale int32 // of a decimal
	// ordered says that values compare here as in the engine; all can be told apart.
	ordered bool
}

// cell is one value.
type cell struct {
	null bool
	i    int64
	u    uint64
	f    float64
	d    decimal128.Num
	s    string
}

// newColumn describes a field. It is ErrUnsupported for types whose values cannot even be told apart.
func newColumn(f arrow.Field) (column, error) {
	c := column{Field: f, ordered: true}
	name, _ := f.Metadata.GetValue(answer.TypeKey)
	switch t := f.Type.(type) {
	case *arrow.BooleanType, *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Date32Type, *arrow.Time64Type,
		*arrow.TimestampType:
		c.form = asInt
	case *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		c.form = asUint
	case *arrow.Float32Type, *arrow.Float64Type:
		c.form = asFloat
	case *arrow.Decimal128Type:
		c.form, c.scale = asDecimal, t.Scale
	case *arrow.StringType:
		c.form, c.ordered = asText, name == "VARCHAR"
		if name == "INTERVAL" || name == "TIME WITH TIME ZONE" { // equal values may have several texts
			return c, ErrUnsupported
		}
	case *arrow.BinaryType:
		c.form = asText
	default:
		return c, ErrUnsupported
	}
	return c, nil
}

// read returns the value of a row. The text of a cell is its own.
func (c *column) read(a arrow.Array, row int) (v cell, err error) {
	if a.IsNull(row) {
		return cell{null: true}, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(row) {
			v.i = 1
		}
	case *array.Int8:
		v.i = int64(a.Value(row))
	case *array.Int16:
		v.i = int64(a.Value(row))
	case *array.Int32:
		v.i = int64(a.Value(row))
	case *array.Int64:
		v.i = a.Value(row)
	case *array.Float32:
		v.f = float64(a.Value(row))
	case *array.Float64:
		v.f = a.Value(row)
	case *array.Decimal128:
		v.d = a.Value(row)
	case *array.String:
		v.s = strings.Clone(a.Value(row))
	case *array.Binary:
		v.s = string(a.Value(row))
	default:
		return readOther(a, row)
	}
	return v, nil
}

// readOther reads times and unsigned numbers.
func readOther(a arrow.Array, row int) (v cell, err error) {
	switch a := a.(type) {
	case *array.Date32:
		v.i = int64(a.Value(row))
	case *array.Time64:
		v.i = int64(a.Value(row))
	case *array.Timestamp:
		v.i = int64(a.Value(row))
	case *array.Uint8:
		v.u = uint64(a.Value(row))
	case *array.Uint16:
		v.u = uint64(a.Value(row))
	case *array.Uint32:
		v.u = uint64(a.Value(row))
	case *array.Uint64:
		v.u = a.Value(row)
	default:
		return v, ErrUnsupported
	}
	return v, nil
}

// appendTo adds a value to a builder of the column's type.
func (c *column) appendTo(b array.Builder, v cell) error {
	if v.null {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.i != 0)
	case *array.Int8Builder:
		b.Append(int8(v.i))
	case *array.Int16Builder:
		b.Append(int16(v.i))
	case *array.Int32Builder:
		b.Append(int32(v.i))
	case *array.Int64Builder:
		b.Append(v.i)
	case *array.Float32Builder:
		b.Append(float32(v.f))
	case *array.Float64Builder:
		b.Append(v.f)
	case *array.Decimal128Builder:
		b.Append(v.d)
	case *array.StringBuilder:
		b.Append(v.s)
	case *array.BinaryBuilder:
		b.Append([]byte(v.s))
	default:
		return appendOther(b, v)
	}
	return nil
}

// appendOther adds times and unsigned numbers.
func appendOther(b array.Builder, v cell) error {
	switch b := b.(type) {
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.i))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v.i))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.i))
	case *array.Uint8Builder:
		b.Append(uint8(v.u))
	case *array.Uint16Builder:
		b.Append(uint16(v.u))
	case *array.Uint32Builder:
		b.Append(uint32(v.u))
	case *array.Uint64Builder:
		b.Append(v.u)
	default:
		return ErrUnsupported
	}
	return nil
}

// appendKey appends bytes that are the same for values that are one group to the engine.
func (c *column) appendKey(key []byte, v cell) []byte {
	if v.null {
		return append(key, 0)
	}
	key = append(key, 1)
	switch c.form {
	case asInt:
		return binary.BigEndian.AppendUint64(key, uint64(v.i))
	case asUint:
		return binary.BigEndian.AppendUint64(key, v.u)
	case asFloat:
		switch {
		case v.f == 0:
			v.f = 0 // as its negative
		case math.IsNaN(v.f):
			v.f = math.NaN() // as any other
		}
		return binary.BigEndian.AppendUint64(key, math.Float64bits(v.f))
	case asDecimal:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, uint64(v.d.HighBits())), v.d.LowBits())
	default:
		return append(binary.BigEndian.AppendUint64(key, uint64(len(v.s))), v.s...)
	}
}

// compare orders two values that are not null.
func (c *column) compare(a, b cell) int {
	switch c.form {
	case asInt:
		return cmp.Compare(a.i, b.i)
	case asUint:
		return cmp.Compare(a.u, b.u)
	case asFloat:
		return compareFloats(a.f, b.f)
	case asDecimal:
		return a.d.Cmp(b.d)
	default:
		return cmp.Compare(a.s, b.s)
	}
}

// compareFloats orders numbers as the engine does: NaN is the greatest.
func compareFloats(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	default:
		return cmp.Compare(a, b)
	}
}

// add returns a + b. It is ErrUnsupported when the sum does not fit.
func (c *column) add(a, b cell) (cell, error) {
	switch {
	case a.null:
		return b, nil
	case b.null:
		return a, nil
	}
	switch c.form {
	case asInt:
		sum := a.i + b.i
		if (a.i > 0) == (b.i > 0) && (sum > 0) != (a.i > 0) && a.i != 0 && b.i != 0 {
			return a, ErrUnsupported
		}
		return cell{i: sum}, nil
	case asFloat:
		return cell{f: a.f + b.f}, nil
	case asDecimal:
		sum := a.d.Add(b.d)
		if a.d.Sign() == b.d.Sign() && a.d.Sign() != 0 && sum.Sign() != a.d.Sign() {
			return a, ErrUnsupported
		}
		return cell{d: sum}, nil
	default:
		return a, ErrUnsupported
	}
}

// float returns a number as a float64.
func (c *column) float(v cell) float64 {
	switch c.form {
	case asFloat:
		return v.f
	case asDecimal:
		return v.d.ToFloat64(c.scale)
	case asUint:
		return float64(v.u)
	default:
		return float64(v.i)
	}
}
