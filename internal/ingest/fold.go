package ingest

import (
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/signal"
)

// fold returns the record with the columns that would take the stream beyond maxColumns moved into signal.OverflowColumn, and
// notes the others as columns of the stream. The caller releases the result. Metrics have fixed columns and are never folded.
func (k *knownStream) fold(r arrow.RecordBatch, maxColumns int) arrow.RecordBatch {
	if k.Signal == signal.Metrics || !k.exceeds(r, maxColumns) {
		r.Retain()
		return r
	}
	keep := make([]int, 0, r.NumCols())
	var spill []int
	overflow := -1
	k.mu.RLock()
	for i, f := range r.Schema().Fields() {
		_, known := k.mu.seen[f.Name]
		switch {
		case f.Name == signal.OverflowColumn:
			overflow = i
		case i < signal.FirstField(r.Schema()) || known:
			keep = append(keep, i)
		default:
			spill = append(spill, i)
		}
	}
	k.mu.RUnlock()
	return rebuild(r, keep, spill, overflow)
}

// exceeds notes the record's columns as seen while there is room and reports whether some found none.
func (k *knownStream) exceeds(r arrow.RecordBatch, maxColumns int) bool {
	var fresh []string
	s := r.Schema()
	k.mu.RLock()
	for _, f := range s.Fields()[signal.FirstField(s):] {
		if _, ok := k.mu.seen[f.Name]; !ok {
			fresh = append(fresh, f.Name)
		}
	}
	k.mu.RUnlock()
	if len(fresh) == 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	over := false
	for _, name := range fresh {
		if _, ok := k.mu.seen[name]; ok {
			continue
		}
		if len(k.mu.seen) >= maxColumns && name != signal.OverflowColumn {
			over = true
			continue
		}
		k.mu.seen[name] = struct{}{}
	}
	return over
}

// rebuild returns r with the columns keep and an overflow column that holds spill and what stood in the old one (index overflow,
// -1 for none).
func rebuild(r arrow.RecordBatch, keep, spill []int, overflow int) arrow.RecordBatch {
	fields := make([]arrow.Field, 0, len(keep)+1)
	columns := make([]arrow.Array, 0, len(keep)+1)
	for _, i := range keep {
		fields, columns = append(fields, r.Schema().Field(i)), append(columns, r.Column(i))
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	var object []byte
	for row := range int(r.NumRows()) {
		object = appendOverflow(object[:0], r, row, spill, overflow)
		if len(object) == 0 {
			b.AppendNull()
			continue
		}
		b.BinaryBuilder.Append(object)
	}
	folded := b.NewArray()
	defer folded.Release()
	fields, columns = append(fields, signal.JSON.Field(signal.OverflowColumn)), append(columns, folded)
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, r.NumRows())
}

// appendOverflow appends the JSON object of one row, nothing when no value is there.
func appendOverflow(dst []byte, r arrow.RecordBatch, row int, spill []int, overflow int) []byte {
	if overflow >= 0 && r.Column(overflow).IsValid(row) {
		if old, ok := r.Column(overflow).(*array.String); ok && len(old.Value(row)) > 2 {
			dst = append(dst, old.Value(row)...)
			dst = dst[:len(dst)-1] // the closing brace
		}
	}
	for _, i := range spill {
		if r.Column(i).IsNull(row) {
			continue
		}
		if len(dst) == 0 {
			dst = append(dst, '{')
		} else {
			dst = append(dst, ',')
		}
		dst = signal.AppendJSONString(dst, []byte(r.ColumnName(i)))
		dst = append(dst, ':')
		dst = appendJSONValue(dst, r.Schema().Field(i), r.Column(i), row)
	}
	if len(dst) > 0 {
		dst = append(dst, '}')
	}
	return dst
}

// appendJSONValue appends a value as JSON. Floats that JSON has no number for are strings.
func appendJSONValue(dst []byte, f arrow.Field, col arrow.Array, row int) []byte {
	switch a := col.(type) {
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(row))
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(row), 10)
	case *array.Float64:
		v := a.Value(row)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return signal.AppendJSONString(dst, strconv.AppendFloat(nil, v, 'g', -1, 64))
		}
		return strconv.AppendFloat(dst, v, 'g', -1, 64)
	case *array.Timestamp:
		t := time.UnixMicro(int64(a.Value(row))).UTC()
		return signal.AppendJSONString(dst, t.AppendFormat(nil, time.RFC3339Nano))
	case *array.String:
		if t, _ := signal.FieldType(f); t == signal.JSON {
			return append(dst, a.Value(row)...)
		}
		return signal.AppendJSONString(dst, []byte(a.Value(row)))
	default:
		return append(dst, "null"...)
	}
}
