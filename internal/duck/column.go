package duck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// TypeKey is the field metadata key under which a result's schema carries the name of the DuckDB type, in DuckDB's spelling: "BIGINT",
// "HUGEINT", "DECIMAL(18,3)", "VARCHAR", "JSON", "UUID", "INTERVAL", "TIMESTAMP WITH TIME ZONE", "BIT", "ENUM", "BIGINT[]", "STRUCT",
// "MAP", … An encoder that links no engine formats cells by it. The Arrow types:
//
//	BOOLEAN                          bool
//	TINYINT … BIGINT, UTINYINT … UBIGINT, FLOAT, DOUBLE   the same width and sign
//	HUGEINT                          decimal128(38, 0); exact in its 128 bits even beyond 38 digits
//	UHUGEINT                         utf8, decimal digits
//	DECIMAL(w,s)                     decimal128(w, s)
//	VARCHAR, JSON, ENUM              utf8 (JSON text is untouched, numbers keep their digits)
//	BLOB                             binary
//	BIT                              utf8 of 0 and 1
//	UUID                             utf8, canonical form
//	INTERVAL                         utf8 as DuckDB prints it: "1 year 2 months 3 days 04:05:06.7"
//	DATE                             date32
//	TIME, TIME_NS                    time64[us], time64[ns]
//	TIME WITH TIME ZONE              utf8: "04:05:06.7+02"
//	TIMESTAMP, TIMESTAMP_S, _MS, _NS timestamp[us, s, ms, ns] without zone (UTC is meant)
//	TIMESTAMP WITH TIME ZONE         timestamp[us, UTC]
//	LIST, ARRAY                      list of the element; field name "item"
//	STRUCT                           struct
//	MAP                              map
//	"NULL"                           null (rare: DuckDB gives a bare NULL the type INTEGER)
//
// DuckDB's infinite dates and timestamps are the largest and the second smallest integer of their width: ±(2^31-1) days, ±(2^63-1) units.
const TypeKey = "duckdb.type"

// column converts vectors of one type to Arrow arrays.
type column struct {
	id       bindings.Type
	internal bindings.Type // physical type of DECIMAL and ENUM
	width    int           // bytes of a fixed-width value as DuckDB stores it
	name     string        // DuckDB's name
	typ      arrow.DataType
	values   []string // of an ENUM
	children []column // list element, struct fields, or a map's entry struct
	labels   []string // names of struct fields
	size     int      // of an ARRAY
}

// fixed are the types that Arrow stores bit for bit as DuckDB does.
func fixedType(id bindings.Type) (name string, typ arrow.DataType, ok bool) {
	switch id {
	case bindings.TypeTinyInt:
		return "TINYINT", arrow.PrimitiveTypes.Int8, true
	case bindings.TypeSmallInt:
		return "SMALLINT", arrow.PrimitiveTypes.Int16, true
	case bindings.TypeInteger:
		return "INTEGER", arrow.PrimitiveTypes.Int32, true
	case bindings.TypeBigInt:
		return "BIGINT", arrow.PrimitiveTypes.Int64, true
	case bindings.TypeUTinyInt:
		return "UTINYINT", arrow.PrimitiveTypes.Uint8, true
	case bindings.TypeUSmallInt:
		return "USMALLINT", arrow.PrimitiveTypes.Uint16, true
	case bindings.TypeUInteger:
		return "UINTEGER", arrow.PrimitiveTypes.Uint32, true
	case bindings.TypeUBigInt:
		return "UBIGINT", arrow.PrimitiveTypes.Uint64, true
	case bindings.TypeFloat:
		return "FLOAT", arrow.PrimitiveTypes.Float32, true
	case bindings.TypeDouble:
		return "DOUBLE", arrow.PrimitiveTypes.Float64, true
	case bindings.TypeHugeInt:
		return "HUGEINT", &arrow.Decimal128Type{Precision: 38, Scale: 0}, true
	case bindings.TypeDate:
		return "DATE", arrow.FixedWidthTypes.Date32, true
	case bindings.TypeTime:
		return "TIME", arrow.FixedWidthTypes.Time64us, true
	case bindings.TypeTimeNS:
		return "TIME_NS", arrow.FixedWidthTypes.Time64ns, true
	case bindings.TypeTimestamp:
		return "TIMESTAMP", &arrow.TimestampType{Unit: arrow.Microsecond}, true
	case bindings.TypeTimestampS:
		return "TIMESTAMP_S", &arrow.TimestampType{Unit: arrow.Second}, true
	case bindings.TypeTimestampMS:
		return "TIMESTAMP_MS", &arrow.TimestampType{Unit: arrow.Millisecond}, true
	case bindings.TypeTimestampNS:
		return "TIMESTAMP_NS", &arrow.TimestampType{Unit: arrow.Nanosecond}, true
	case bindings.TypeTimestampTZ:
		return "TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, true
	}
	return "", nil, false
}

// textType are the types that leave as text made here, with the bytes of one stored value.
func textType(id bindings.Type) (name string, width int, ok bool) {
	switch id {
	case bindings.TypeUHugeInt:
		return "UHUGEINT", 16, true
	case bindings.TypeUUID:
		return "UUID", 16, true
	case bindings.TypeInterval:
		return "INTERVAL", 16, true
	case bindings.TypeTimeTZ:
		return "TIME WITH TIME ZONE", 8, true
	case bindings.TypeBit:
		return "BIT", 16, true
	}
	return "", 0, false
}

// newColumn describes t. It does not keep t.
func newColumn(t bindings.LogicalType) (column, error) {
	c := column{id: bindings.GetTypeId(t)}
	if name, typ, ok := fixedType(c.id); ok {
		c.name, c.typ, c.width = name, typ, typ.(arrow.FixedWidthDataType).Bytes()
		return c, nil
	}
	if name, width, ok := textType(c.id); ok {
		c.name, c.typ, c.width = name, arrow.BinaryTypes.String, width
		return c, nil
	}
	switch c.id {
	case bindings.TypeSQLNull:
		c.name, c.typ = `"NULL"`, arrow.Null
	case bindings.TypeBoolean:
		c.name, c.typ = "BOOLEAN", arrow.FixedWidthTypes.Boolean
	case bindings.TypeVarchar:
		c.name, c.typ = "VARCHAR", arrow.BinaryTypes.String
		if alias := bindings.LogicalTypeGetAlias(t); alias != "" {
			c.name = alias
		}
	case bindings.TypeBlob:
		c.name, c.typ = "BLOB", arrow.BinaryTypes.Binary
	case bindings.TypeDecimal:
		w, s := bindings.DecimalWidth(t), bindings.DecimalScale(t)
		c.name, c.typ = fmt.Sprintf("DECIMAL(%d,%d)", w, s), &arrow.Decimal128Type{Precision: int32(w), Scale: int32(s)}
		c.internal = bindings.DecimalInternalType(t)
	case bindings.TypeEnum:
		c.name, c.typ, c.internal = "ENUM", arrow.BinaryTypes.String, bindings.EnumInternalType(t)
		for v := range bindings.EnumDictionarySize(t) {
			c.values = append(c.values, bindings.EnumDictionaryValue(t, bindings.IdxT(v)))
		}
	case bindings.TypeList, bindings.TypeArray, bindings.TypeStruct, bindings.TypeMap:
		return newNested(c, t)
	default:
		return c, errors.New("values of this type cannot be returned; cast them to VARCHAR")
	}
	return c, nil
}

// newNested completes c for a type that has children.
func newNested(c column, t bindings.LogicalType) (column, error) {
	add := func(label string, child bindings.LogicalType) error {
		defer bindings.DestroyLogicalType(&child)
		col, err := newColumn(child)
		c.children, c.labels = append(c.children, col), append(c.labels, label)
		return err
	}
	var err error
	switch c.id {
	case bindings.TypeList:
		err = add("item", bindings.ListTypeChildType(t))
	case bindings.TypeArray:
		c.size = int(bindings.ArrayTypeArraySize(t))
		err = add("item", bindings.ArrayTypeChildType(t))
	case bindings.TypeMap:
		if err = add("key", bindings.MapTypeKeyType(t)); err == nil {
			err = add("value", bindings.MapTypeValueType(t))
		}
	default:
		for f := range bindings.StructTypeChildCount(t) {
			if err = add(bindings.StructTypeChildName(t, f), bindings.StructTypeChildType(t, f)); err != nil {
				break
			}
		}
	}
	if err != nil {
		return c, err
	}
	c.nest()
	return c, nil
}

// nest derives name and Arrow type from the children.
func (c *column) nest() {
	fields := make([]arrow.Field, len(c.children))
	inner := make([]string, len(c.children))
	for i := range c.children {
		fields[i] = c.children[i].field(c.labels[i])
		inner[i] = quoteIdent(c.labels[i]) + " " + c.children[i].name
	}
	switch c.id {
	case bindings.TypeList:
		c.name, c.typ = c.children[0].name+"[]", arrow.ListOfField(fields[0])
	case bindings.TypeArray:
		c.name, c.typ = fmt.Sprintf("%s[%d]", c.children[0].name, c.size), arrow.ListOfField(fields[0])
	case bindings.TypeMap:
		c.name = "MAP(" + c.children[0].name + ", " + c.children[1].name + ")"
		fields[0].Nullable = false
		c.typ = arrow.MapOfFields(fields[0], fields[1])
	default:
		c.name, c.typ = "STRUCT("+strings.Join(inner, ", ")+")", arrow.StructOf(fields...)
	}
}

// field returns the Arrow field of a column of this type.
func (c *column) field(name string) arrow.Field {
	return arrow.Field{Name: name, Type: c.typ, Nullable: true, Metadata: arrow.NewMetadata([]string{TypeKey}, []string{c.name})}
}
