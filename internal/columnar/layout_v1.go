package columnar

import (
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// layoutV1 reads format 1 (docs/format/segment.md).
type layoutV1 struct{}

func (layoutV1) columns(f *file.Reader, names Names) ([]readColumn, error) {
	s := f.MetaData().Schema
	var out []readColumn
	for i := range s.NumColumns() {
		c := s.Column(i)
		switch c.Name() {
		case signal.TimeColumn:
			out = append(out, readColumn{i, timeField()})
			continue
		case signal.NanosColumn:
			out = append(out, readColumn{i, nanosField()})
			continue
		case signal.BlockColumn:
			continue
		}
		typ, ok := typeOf(c)
		if !ok {
			return nil, fault.New(fault.Corrupt, "column %q of an unknown type", c.Name())
		}
		name, ok := logicalName(c, typ, names)
		if ok {
			out = append(out, readColumn{i, typ.Field(name)})
		}
	}
	return out, nil
}

// logicalName falls back to the physical name when there are no names to ask.
func logicalName(c *schema.Column, typ signal.Type, names Names) (string, bool) {
	if names == nil {
		return strings.TrimPrefix(c.Name(), VariantPrefix+typ.String()+"."), true
	}
	return names(catalog.ColumnID(c.SchemaNode().FieldID()))
}

func typeOf(c *schema.Column) (signal.Type, bool) {
	switch c.PhysicalType() {
	case parquet.Types.Boolean:
		return signal.Bool, true
	case parquet.Types.Double:
		return signal.Float64, true
	case parquet.Types.Int64:
		if _, ok := c.LogicalType().(schema.TimestampLogicalType); ok {
			return signal.Timestamp, true
		}
		return signal.Int64, true
	case parquet.Types.ByteArray:
		if _, ok := c.LogicalType().(schema.JSONLogicalType); ok {
			return signal.JSON, true
		}
		return signal.String, true
	default:
		return 0, false
	}
}
