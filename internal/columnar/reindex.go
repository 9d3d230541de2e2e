package columnar

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
)

// textColumn is what tells text columns of a file apart.
type textColumn struct {
	name string // columnKey
	typ  signal.Type
}

// BuildIndex makes the search index of a data file that has none, of the columns that the catalog lists for it: what WriteFile makes
// with WriteOptions.Index. The caller has checked the file's bytes against the catalog's checksum. Memory is the texts of one row group.
func BuildIndex(ctx context.Context, path string, columns []catalog.SegmentColumn) (*searchindex.Builder, error) {
	places := make(map[textColumn]int)
	wanted := make(map[catalog.ColumnID]bool)
	var names []string
	for _, c := range columns {
		if c.ID == 0 || c.Type != signal.String && c.Type != signal.JSON {
			continue
		}
		name, _ := columnKey(c.ID)
		places[textColumn{name, c.Type}] = len(names)
		names = append(names, c.Physical)
		wanted[c.ID] = true
	}
	r, err := OpenReader(path, func(id catalog.ColumnID) (string, bool) {
		name, _ := columnKey(id)
		return name, wanted[id]
	})
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // read only
	b := searchindex.NewBuilder(names)
	for {
		record, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		err = indexRecord(b, record, places)
		record.Release()
		if err != nil {
			return nil, err
		}
	}
}

// indexRecord adds the texts of a row group.
func indexRecord(b *searchindex.Builder, record arrow.RecordBatch, places map[textColumn]int) error {
	schema := record.Schema()
	for i := signal.FirstField(schema); i < schema.NumFields(); i++ {
		texts, ok := record.Column(i).(*array.String)
		if !ok {
			continue // another type of a column that has texts too
		}
		typ, _ := signal.FieldType(schema.Field(i))
		place, ok := places[textColumn{schema.Field(i).Name, typ}]
		if !ok {
			return fault.New(fault.Corrupt, "the file has a text column of id %s that the catalog does not list", schema.Field(i).Name)
		}
		offsets, bytes := texts.ValueOffsets(), texts.ValueBytes()
		for row := range texts.Len() {
			if texts.IsValid(row) {
				text := bytes[offsets[row]-offsets[0] : offsets[row+1]-offsets[0]]
				b.AddBytes(place, len(text))
				b.Add(place, text, searchindex.SliceOf(row, texts.Len()))
			}
		}
	}
	b.EndRowGroup()
	return nil
}
