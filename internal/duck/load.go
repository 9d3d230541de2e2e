package duck

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/fault"
)

// LoadTable creates the temporary table name with the columns of schema and copies batches into it; an existing one is replaced.
// Nothing refers to the batches afterwards. Every batch has the columns of schema in its order, dictionary-encoded or not.
//
// Arrow types: bool, int8 … int64, uint8 … uint64, float32, float64, utf8, large_utf8, binary, large_binary, date32, timestamp of any
// unit without a zone (TIMESTAMP, TIMESTAMP_S, _MS, _NS) and of microseconds with one (TIMESTAMP WITH TIME ZONE), and dictionaries of utf8
// without nulls among their values (VARCHAR). A utf8 field whose metadata has TypeKey "JSON" becomes a JSON column; its text is not
// checked.
//
// Errors: fault.Internal for other types and batches of another shape, fault.Invalid for text that is not UTF-8 and for a reached limit.
func (i *Instance) LoadTable(ctx context.Context, name string, schema *arrow.Schema, batches []arrow.RecordBatch) error {
	cols, err := loadColumns(schema)
	if err != nil {
		return err
	}
	defs := make([]string, len(cols))
	for c := range cols {
		defs[c] = quoteIdent(schema.Field(c).Name) + " " + cols[c].sqlType
	}
	create := "CREATE OR REPLACE TEMP TABLE " + quoteIdent(name) + " (" + strings.Join(defs, ", ") + ")"
	return i.call(ctx, func() error {
		if err := i.engine.exec(create); err != nil {
			return fmt.Errorf("create temporary table: %w", err)
		}
		if err := i.engine.load(ctx, name, cols, batches); err != nil {
			return fmt.Errorf("fill temporary table: %w", err)
		}
		return nil
	})
}

// loadColumn copies one Arrow column into vectors.
type loadColumn struct {
	sqlType string
	id      bindings.Type
	width   int  // bytes of a fixed-width value, 0 for bool, text and binary
	text    bool // must be UTF-8
	json    bool
	arrow   arrow.DataType
}

func loadColumns(schema *arrow.Schema) ([]loadColumn, error) {
	cols := make([]loadColumn, schema.NumFields())
	for c := range cols {
		f := schema.Field(c)
		col, ok := newLoadColumn(f.Type)
		if !ok {
			return nil, fault.New(fault.Internal, "column %q: no table column for Arrow type %s", f.Name, f.Type)
		}
		if name, _ := f.Metadata.GetValue(TypeKey); name == "JSON" && col.text {
			col.sqlType, col.json = "JSON", true
		}
		col.arrow = f.Type
		cols[c] = col
	}
	return cols, nil
}

func newLoadColumn(t arrow.DataType) (loadColumn, bool) {
	fixed := func(sqlType string, id bindings.Type) (loadColumn, bool) {
		return loadColumn{sqlType: sqlType, id: id, width: t.(arrow.FixedWidthDataType).Bytes()}, true
	}
	switch t.ID() { //nolint:exhaustive // other types are refused
	case arrow.BOOL:
		return loadColumn{sqlType: "BOOLEAN", id: bindings.TypeBoolean}, true
	case arrow.INT8:
		return fixed("TINYINT", bindings.TypeTinyInt)
	case arrow.INT16:
		return fixed("SMALLINT", bindings.TypeSmallInt)
	case arrow.INT32:
		return fixed("INTEGER", bindings.TypeInteger)
	case arrow.INT64:
		return fixed("BIGINT", bindings.TypeBigInt)
	case arrow.UINT8:
		return fixed("UTINYINT", bindings.TypeUTinyInt)
	case arrow.UINT16:
		return fixed("USMALLINT", bindings.TypeUSmallInt)
	case arrow.UINT32:
		return fixed("UINTEGER", bindings.TypeUInteger)
	case arrow.UINT64:
		return fixed("UBIGINT", bindings.TypeUBigInt)
	case arrow.FLOAT32:
		return fixed("FLOAT", bindings.TypeFloat)
	case arrow.FLOAT64:
		return fixed("DOUBLE", bindings.TypeDouble)
	case arrow.DATE32:
		return fixed("DATE", bindings.TypeDate)
	case arrow.TIMESTAMP:
		return timestampColumn(t.(*arrow.TimestampType))
	case arrow.STRING, arrow.LARGE_STRING:
		return loadColumn{sqlType: "VARCHAR", id: bindings.TypeVarchar, text: true}, true
	case arrow.BINARY, arrow.LARGE_BINARY:
		return loadColumn{sqlType: "BLOB", id: bindings.TypeBlob}, true
	case arrow.DICTIONARY:
		col, ok := newLoadColumn(t.(*arrow.DictionaryType).ValueType)
		return col, ok && col.text
	}
	return loadColumn{}, false
}

func timestampColumn(t *arrow.TimestampType) (loadColumn, bool) {
	const width = 8
	if t.TimeZone != "" {
		return loadColumn{sqlType: "TIMESTAMP WITH TIME ZONE", id: bindings.TypeTimestampTZ, width: width}, t.Unit == arrow.Microsecond
	}
	switch t.Unit {
	case arrow.Second:
		return loadColumn{sqlType: "TIMESTAMP_S", id: bindings.TypeTimestampS, width: width}, true
	case arrow.Millisecond:
		return loadColumn{sqlType: "TIMESTAMP_MS", id: bindings.TypeTimestampMS, width: width}, true
	case arrow.Microsecond:
		return loadColumn{sqlType: "TIMESTAMP", id: bindings.TypeTimestamp, width: width}, true
	default:
		return loadColumn{sqlType: "TIMESTAMP_NS", id: bindings.TypeTimestampNS, width: width}, true
	}
}

// loader fills one table.
type loader struct {
	engine   *engine
	columns  []loadColumn
	types    []bindings.LogicalType
	appender bindings.Appender
	chunk    bindings.DataChunk
}

// load appends batches to the temporary table name.
func (e *engine) load(ctx context.Context, name string, cols []loadColumn, batches []arrow.RecordBatch) (err error) {
	l := &loader{engine: e, columns: cols}
	defer func() {
		if !l.close() && err == nil {
			err = fault.New(fault.Internal, "close appender")
		}
	}()
	if bindings.AppenderCreateExt(e.conn, "temp", "main", name, &l.appender) == bindings.StateError {
		return l.fail()
	}
	for _, c := range cols {
		t := bindings.CreateLogicalType(c.id)
		if c.json {
			bindings.LogicalTypeSetAlias(t, "JSON")
		}
		l.types = append(l.types, t)
	}
	l.chunk = bindings.CreateDataChunk(l.types)
	for _, b := range batches {
		if int(b.NumCols()) != len(cols) {
			return fault.New(fault.Internal, "batch has %d columns, its table %d", b.NumCols(), len(cols))
		}
		if err := l.batch(ctx, b); err != nil {
			return err
		}
	}
	if bindings.AppenderFlush(l.appender) == bindings.StateError {
		return l.fail()
	}
	return nil
}

func (l *loader) fail() error { return l.engine.fail(bindings.AppenderError(l.appender)) }

// close frees what the loader holds and reports whether the appender closed well.
func (l *loader) close() bool {
	bindings.DestroyDataChunk(&l.chunk)
	for c := range l.types {
		bindings.DestroyLogicalType(&l.types[c])
	}
	return bindings.AppenderDestroy(&l.appender) == bindings.StateSuccess
}

// batch appends b in chunks of the engine's vector size.
func (l *loader) batch(ctx context.Context, b arrow.RecordBatch) error {
	step := int(bindings.VectorSize())
	for at := 0; at < int(b.NumRows()); at += step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := l.append(window{b, at, min(step, int(b.NumRows())-at)}); err != nil {
			return err
		}
	}
	return nil
}

// window is rows [at, at+n) of a batch.
type window struct {
	batch arrow.RecordBatch
	at, n int
}

func (l *loader) append(w window) error {
	// Long texts are not copied into the chunk: it points to the Arrow buffers, which stay pinned until the appender has its own copy.
	var pin runtime.Pinner
	defer pin.Unpin()
	bindings.DataChunkReset(l.chunk)
	for c := range l.columns {
		vec := bindings.DataChunkGetVector(l.chunk, bindings.IdxT(c))
		if err := l.columns[c].fill(vec, w.batch.Column(c), w, &pin); err != nil {
			return fmt.Errorf("column %q: %w", w.batch.ColumnName(c), err)
		}
	}
	bindings.DataChunkSetSize(l.chunk, bindings.IdxT(w.n))
	if bindings.AppendDataChunk(l.appender, l.chunk) == bindings.StateError {
		return l.fail()
	}
	return nil
}

// fill writes rows w of col into vec.
func (c *loadColumn) fill(vec bindings.Vector, col arrow.Array, w window, pin *runtime.Pinner) error {
	if !arrow.TypeEqual(col.DataType(), c.arrow) && (!c.text || !isText(col.DataType())) {
		return fault.New(fault.Internal, "batch has Arrow type %s, its table %s", col.DataType(), c.arrow)
	}
	if col.NullN() > 0 {
		bindings.VectorEnsureValidityWritable(vec)
		mask := unsafe.Slice((*byte)(bindings.VectorGetValidity(vec)), (int(bindings.VectorSize())+7)/8)
		bitutil.CopyBitmap(col.NullBitmapBytes(), col.Data().Offset()+w.at, w.n, mask, 0)
	}
	if c.width > 0 {
		from := (col.Data().Offset() + w.at) * c.width
		copy(values[byte](vec, w.n*c.width), col.Data().Buffers()[1].Bytes()[from:])
		return nil
	}
	switch a := col.(type) {
	case *array.Boolean:
		out := values[bool](vec, w.n)
		for i := range out {
			out[i] = a.Value(w.at + i)
		}
	case *array.Dictionary:
		dict, ok := a.Dictionary().(*array.String)
		if !ok || dict.NullN() > 0 {
			return fault.New(fault.Internal, "dictionary of %s with %d nulls", a.Dictionary().DataType(), a.Dictionary().NullN())
		}
		pinBuffer(pin, dict.Data())
		return c.fillTexts(vec, w.n, func(i int) string {
			if a.IsNull(w.at + i) {
				return ""
			}
			return dict.Value(a.GetValueIndex(w.at + i))
		})
	case *array.String:
		pinBuffer(pin, a.Data())
		return c.fillTexts(vec, w.n, func(i int) string { return a.Value(w.at + i) })
	case *array.LargeString:
		pinBuffer(pin, a.Data())
		return c.fillTexts(vec, w.n, func(i int) string { return a.Value(w.at + i) })
	case *array.Binary:
		pinBuffer(pin, a.Data())
		return c.fillTexts(vec, w.n, func(i int) string { return a.ValueString(w.at + i) })
	case *array.LargeBinary:
		pinBuffer(pin, a.Data())
		return c.fillTexts(vec, w.n, func(i int) string { return a.ValueString(w.at + i) })
	default:
		return fault.New(fault.Internal, "batch has Arrow type %s", col.DataType())
	}
	return nil
}

// isText reports whether a text column can be filled from t; dictionaries of other things are refused later.
func isText(t arrow.DataType) bool {
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING || t.ID() == arrow.DICTIONARY
}

// pinBuffer pins the bytes of a text or binary array.
func pinBuffer(pin *runtime.Pinner, d arrow.ArrayData) {
	if buf := d.Buffers()[2]; buf != nil && buf.Len() > 0 {
		pin.Pin(&buf.Bytes()[0])
	}
}

// fillTexts writes n strings, whose bytes are pinned. Null slots may hold any text that at returns.
func (c *loadColumn) fillTexts(vec bindings.Vector, n int, at func(i int) string) error {
	out := values[stringT](vec, n)
	for i := range out {
		s := at(i)
		if c.text && !utf8.ValidString(s) {
			return fault.New(fault.Invalid, "a text is not valid UTF-8")
		}
		if len(s) <= inlineBytes {
			out[i] = stringT{length: uint32(len(s))}
			copy(out[i].rest[:], s)
			continue
		}
		data := unsafe.StringData(s)
		out[i].length = uint32(len(s))
		copy(out[i].rest[:4], s)
		*(*uintptr)(unsafe.Pointer(&out[i].rest[4])) = uintptr(unsafe.Pointer(data))
	}
	return nil
}
