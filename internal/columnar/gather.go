package columnar

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// VariantPrefix begins the physical name of the second and later types of a column within a file:
// "_v." + type + "." + the column's physical name.
const VariantPrefix = "_v."

// field is one physical column of a file with its values in the part's records.
type field struct {
	name   string // the user's
	column catalog.Column
	typ    signal.Type
	phys   string
	arrays []arrow.Array // by record, nil where the record lacks it
	stats  parquetfile.Stats
	exact  bool // every int64 so far is exact in a float64
}

// fieldsOf lists the physical columns of a part: by column id, then type. Columns without a value in the part are left out.
func fieldsOf(p *Part, cols Columns) ([]*field, error) {
	type key struct {
		name string
		typ  signal.Type
	}
	found := make(map[key]*field)
	var fields []*field
	for i, r := range p.Records {
		schema := r.Schema()
		for j := signal.FirstField(schema); j < schema.NumFields(); j++ {
			a := r.Column(j)
			if !hasValue(a, p.selection(i)) {
				continue
			}
			f := schema.Field(j)
			typ, ok := signal.FieldType(f)
			if !ok {
				return nil, fault.New(fault.Internal, "column %q has the unknown type %s", f.Name, f.Type)
			}
			k := key{f.Name, typ}
			if found[k] == nil {
				found[k] = &field{name: f.Name, typ: typ, arrays: make([]arrow.Array, len(p.Records)), exact: true}
				fields = append(fields, found[k])
			}
			found[k].arrays[i] = a
		}
	}
	return fields, nameFields(fields, cols)
}

func nameFields(fields []*field, cols Columns) error {
	for _, f := range fields {
		c, ok := cols(f.name)
		if !ok {
			return fault.New(fault.Internal, "column %q is not reserved", f.name)
		}
		f.column = c
	}
	slices.SortFunc(fields, func(a, b *field) int {
		return cmp.Or(cmp.Compare(a.column.ID, b.column.ID), cmp.Compare(a.typ, b.typ))
	})
	for i, f := range fields {
		f.phys = f.column.Physical
		if i > 0 && fields[i-1].column.ID == f.column.ID {
			f.phys = fmt.Sprintf("%s%s.%s", VariantPrefix, f.typ, f.column.Physical)
		}
	}
	return nil
}

func hasValue(a arrow.Array, rows []int32) bool {
	if a.NullN() == 0 {
		return a.Len() > 0
	}
	if rows == nil {
		return a.NullN() < a.Len()
	}
	return slices.ContainsFunc(rows, func(row int32) bool { return a.IsValid(int(row)) })
}

func (f *field) fileColumn() parquetfile.Column {
	c := parquetfile.Column{Name: f.phys, FieldID: int32(f.column.ID)}
	switch f.typ {
	case signal.Bool:
		c.Kind = parquetfile.Bool
	case signal.Int64:
		c.Kind = parquetfile.Int64
	case signal.Float64:
		c.Kind = parquetfile.Float64
	case signal.Timestamp:
		c.Kind = parquetfile.Timestamp
	case signal.JSON:
		c.Kind = parquetfile.JSON
	default:
		c.Kind = parquetfile.Text
	}
	return c
}

// gatherer collects the values of one row group of a column. Its slices are used again.
type gatherer struct {
	chunk   parquetfile.Chunk
	present []bool
}

// gather returns the values of the field in the rows, valid until the next call.
func (g *gatherer) gather(f *field, rows []rowRef) *parquetfile.Chunk {
	c := &g.chunk
	c.Ints, c.Floats, c.Bools, c.Texts = c.Ints[:0], c.Floats[:0], c.Bools[:0], c.Texts[:0]
	g.present = g.present[:0]
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].record == rows[0].record {
			n++
		}
		g.run(f.arrays[rows[0].record], rows[:n])
		rows = rows[n:]
	}
	c.Present = g.present
	if !slices.Contains(g.present, false) {
		c.Present = nil
	}
	return c
}

// run collects rows that lie in one record.
func (g *gatherer) run(a arrow.Array, rows []rowRef) {
	if a == nil {
		for range rows {
			g.present = append(g.present, false)
		}
		return
	}
	nulls := a.NullN() > 0
	for _, r := range rows {
		g.present = append(g.present, !nulls || a.IsValid(int(r.row)))
	}
	present := g.present[len(g.present)-len(rows):]
	c := &g.chunk
	switch a := a.(type) {
	case *array.Int64:
		c.Ints = collect(c.Ints, a.Int64Values(), rows, present)
	case *array.Timestamp:
		c.Ints = collect(c.Ints, arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues())), rows, present)
	case *array.Float64:
		c.Floats = collect(c.Floats, a.Float64Values(), rows, present)
	case *array.Boolean:
		c.Bools = collectBy(c.Bools, a.Value, rows, present)
	case *array.String:
		c.Texts = collectBy(c.Texts, a.Value, rows, present)
	}
}

func collect[T any](dst, values []T, rows []rowRef, present []bool) []T {
	for i, r := range rows {
		if present[i] {
			dst = append(dst, values[r.row])
		}
	}
	return dst
}

func collectBy[T any](dst []T, value func(int) T, rows []rowRef, present []bool) []T {
	for i, r := range rows {
		if present[i] {
			dst = append(dst, value(int(r.row)))
		}
	}
	return dst
}
