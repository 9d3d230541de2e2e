package querier

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// recordsByDataset is fresh rows.
type recordsByDataset = map[catalog.DatasetID][]arrow.RecordBatch

// freshTable is the temporary table with the fresh rows of one dataset.
type freshTable struct {
	name   string
	fields []freshField
	nanos  string // its column, empty when no row has nanoseconds
	rows   int64
	filter freshFilter
}

// freshField is a column of a temporary table: a field of the stream in one type.
type freshField struct {
	name   string // logical
	typ    signal.Type
	column string // in the table
}

// freshFilter says which rows a statement needs of a dataset.
type freshFilter struct {
	time    sqlplan.TimeRange
	metrics map[string]bool // nil: all
	columns map[string]bool // logical names; those of ours included
}

// variants returns the table's columns of a field.
func (t *freshTable) variants(name string) []variant {
	var out []variant
	for _, f := range t.fields {
		if f.name == name {
			out = append(out, variant{f.column, f.typ})
		}
	}
	return out
}

// text writes the column of a text field that has one type, NULL where the table lacks it.
func (t *freshTable) text(name string) string {
	if v := t.variants(name); len(v) > 0 {
		return ident(v[0].name)
	}
	return "NULL"
}

// loadFresh copies what a statement needs of a dataset's fresh records into the temporary table t, which has a name and a filter. It
// returns t, or nil when no row is needed.
func loadFresh(ctx context.Context, inst *duck.Instance, t *freshTable, records []arrow.RecordBatch) (*freshTable, error) {
	var cut []arrow.RecordBatch
	defer func() { releaseAll(cut) }()
	for _, r := range records {
		c, err := t.filter.rows(ctx, r)
		if err != nil {
			return nil, err
		}
		if c != nil {
			cut = append(cut, c)
			t.rows += c.NumRows()
		}
	}
	if t.rows == 0 {
		return nil, nil
	}
	t.layOut(cut)
	schema := t.schema()
	batches := make([]arrow.RecordBatch, len(cut))
	defer func() { releaseAll(batches) }()
	for i, r := range cut {
		batches[i] = t.batch(schema, r)
	}
	if err := inst.LoadTable(ctx, t.name, schema, batches); err != nil {
		return nil, fmt.Errorf("copy fresh rows: %w", err)
	}
	return t, nil
}

func releaseAll(records []arrow.RecordBatch) {
	for _, r := range records {
		if r != nil {
			r.Release()
		}
	}
}

// rows returns the rows of a record that the filter keeps, or nil. The caller releases them.
func (f *freshFilter) rows(ctx context.Context, r arrow.RecordBatch) (arrow.RecordBatch, error) {
	metrics := texts(r, signal.MetricColumn)
	keep := make([]bool, r.NumRows())
	kept := 0
	for i, t := range signal.Times(r) {
		keep[i] = int64(t) >= f.time.Start && int64(t) < f.time.End && (f.metrics == nil || metrics != nil && f.metrics[metrics.Value(i)])
		if keep[i] {
			kept++
		}
	}
	switch kept {
	case 0:
		return nil, nil
	case len(keep):
		r.Retain()
		return r, nil
	}
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(keep, nil)
	mask := b.NewArray()
	defer mask.Release()
	narrow := f.project(r)
	defer narrow.Release()
	out, err := compute.FilterRecordBatch(ctx, narrow, mask, compute.DefaultFilterOptions())
	if err != nil {
		return nil, fmt.Errorf("cut fresh rows: %w", err)
	}
	return out, nil
}

// project drops the columns that nobody asks for, before rows are copied.
func (f *freshFilter) project(r arrow.RecordBatch) arrow.RecordBatch {
	first := signal.FirstField(r.Schema())
	var fields []arrow.Field
	var arrays []arrow.Array
	for j, field := range r.Schema().Fields() {
		if j < first || f.columns[field.Name] {
			fields, arrays = append(fields, field), append(arrays, r.Column(j))
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, r.NumRows())
}

// layOut lists the table's columns.
func (t *freshTable) layOut(records []arrow.RecordBatch) {
	for _, r := range records {
		if signal.Nanos(r) != nil {
			t.nanos = "n"
		}
		for j := signal.FirstField(r.Schema()); j < int(r.NumCols()); j++ {
			f := r.Schema().Field(j)
			typ, ok := signal.FieldType(f)
			known := slices.ContainsFunc(t.fields, func(x freshField) bool { return x.name == f.Name && x.typ == typ })
			if !ok || known || !t.filter.columns[f.Name] {
				continue
			}
			t.fields = append(t.fields, freshField{name: f.Name, typ: typ, column: "c" + strconv.Itoa(len(t.fields))})
		}
	}
	slices.SortFunc(t.fields, func(a, b freshField) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.typ, b.typ)) })
}

func (t *freshTable) schema() *arrow.Schema {
	fields := []arrow.Field{{Name: "t", Type: signal.TimestampType}}
	if t.nanos != "" {
		fields = append(fields, arrow.Field{Name: t.nanos, Type: arrow.PrimitiveTypes.Int16, Nullable: true})
	}
	for _, f := range t.fields {
		field := arrow.Field{Name: f.column, Type: f.typ.ArrowType(), Nullable: true}
		if f.typ == signal.JSON {
			field.Metadata = arrow.NewMetadata([]string{duck.TypeKey}, []string{"JSON"})
		}
		fields = append(fields, field)
	}
	return arrow.NewSchema(fields, nil)
}

// batch puts the columns of a record into the table's order. The caller releases it.
func (t *freshTable) batch(schema *arrow.Schema, r arrow.RecordBatch) arrow.RecordBatch {
	have := make(map[freshField]arrow.Array, r.NumCols())
	for j := signal.FirstField(r.Schema()); j < int(r.NumCols()); j++ {
		if typ, ok := signal.FieldType(r.Schema().Field(j)); ok {
			have[freshField{name: r.ColumnName(j), typ: typ}] = r.Column(j)
		}
	}
	rows := int(r.NumRows())
	arrays := []arrow.Array{r.Column(0)}
	var nulls []arrow.Array
	null := func(typ arrow.DataType) arrow.Array {
		a := array.MakeArrayOfNull(memory.DefaultAllocator, typ, rows)
		nulls = append(nulls, a)
		return a
	}
	if t.nanos != "" {
		if signal.Nanos(r) != nil {
			arrays = append(arrays, r.Column(1))
		} else {
			arrays = append(arrays, null(arrow.PrimitiveTypes.Int16))
		}
	}
	for _, f := range t.fields {
		a := have[freshField{name: f.name, typ: f.typ}]
		if a == nil {
			a = null(f.typ.ArrowType())
		}
		arrays = append(arrays, a)
	}
	out := array.NewRecordBatch(schema, arrays, r.NumRows())
	for _, a := range nulls {
		a.Release()
	}
	return out
}
