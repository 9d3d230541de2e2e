package signal

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Type is the type of a column's values. The numbers are stored in the catalog and never change.
type Type uint8

// The types. JSON is text that is one JSON value (arrays, and objects beyond the flattening depth).
const (
	Bool      Type = 1
	Int64     Type = 2
	Float64   Type = 3
	String    Type = 4
	Timestamp Type = 5 // microseconds UTC
	JSON      Type = 6
)

const typeCount = 6

// String returns the name shown by DESCRIBE.
func (t Type) String() string {
	switch t {
	case Bool:
		return "bool"
	case Int64:
		return "int64"
	case Float64:
		return "float64"
	case String:
		return "string"
	case Timestamp:
		return "timestamp"
	case JSON:
		return "json"
	default:
		return fmt.Sprintf("type(%d)", uint8(t))
	}
}

// Names of the columns that every row has or may have.
const (
	TimeColumn     = "_timestamp"       // timestamp[us, UTC], never null
	NanosColumn    = "_timestamp_nanos" // int16, the digits below a microsecond, 0 to 999
	OverflowColumn = "_overflow"        // JSON object: fields beyond the column cap, and losers of a path that two fields share
	BlockColumn    = "_block"           // int64, only in files: segment number << 20 | row group
	UserPrefix     = "_user"            // put before a user's field whose name begins with an underscore
)

// typeKey is the key of field metadata that tells JSON from String.
const typeKey = "millstream.type"

// TimestampType is the Arrow type of TimeColumn and of Timestamp columns.
//
//nolint:gochecknoglobals // an immutable Arrow type
var TimestampType = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

// ArrowType returns the Arrow type of t's values.
func (t Type) ArrowType() arrow.DataType {
	switch t {
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case Float64:
		return arrow.PrimitiveTypes.Float64
	case Timestamp:
		return TimestampType
	default:
		return arrow.BinaryTypes.String
	}
}

// Field returns the Arrow field of a column of this type.
func (t Type) Field(name string) arrow.Field {
	f := arrow.Field{Name: name, Type: t.ArrowType(), Nullable: true}
	if t == JSON {
		f.Metadata = arrow.NewMetadata([]string{typeKey}, []string{"json"})
	}
	return f
}

// FieldType returns the column type of an Arrow field made by Type.Field. It is false for another Arrow type.
func FieldType(f arrow.Field) (Type, bool) {
	switch f.Type.ID() {
	case arrow.BOOL:
		return Bool, true
	case arrow.INT64:
		return Int64, true
	case arrow.FLOAT64:
		return Float64, true
	case arrow.TIMESTAMP:
		return Timestamp, true
	case arrow.STRING:
		if v, ok := f.Metadata.GetValue(typeKey); ok && v == "json" {
			return JSON, true
		}
		return String, true
	default:
		return 0, false
	}
}
