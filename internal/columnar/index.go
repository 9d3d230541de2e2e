package columnar

import (
	"unsafe"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
)

// indexer feeds the search index from the texts that the file writer has sorted out already: of a column with a dictionary, every
// value once.
type indexer struct {
	builder *searchindex.Builder
	places  map[*field]int
}

func newIndexer(fields []*field) *indexer {
	x := &indexer{places: make(map[*field]int)}
	var names []string
	for _, f := range fields {
		if f.typ == signal.String || f.typ == signal.JSON {
			x.places[f] = len(names)
			names = append(names, f.phys)
		}
	}
	x.builder = searchindex.NewBuilder(names)
	return x
}

// add takes the chunk of f that was written last. A nil indexer does nothing.
func (x *indexer) add(f *field, file *parquetfile.Writer) {
	if x == nil {
		return
	}
	place, ok := x.places[f]
	if !ok {
		return
	}
	for _, text := range file.Distinct() {
		x.builder.Add(place, unsafe.Slice(unsafe.StringData(text), len(text))) // read, not kept
	}
}

// addValues is add for a chunk of f that was read. A nil indexer does nothing.
func (x *indexer) addValues(f *field, v *parquetfile.Values) {
	if x == nil {
		return
	}
	place, ok := x.places[f]
	if !ok {
		return
	}
	if v.Texts.Index != nil {
		for i := range v.Texts.Starts {
			x.builder.Add(place, v.Texts.Entry(i))
		}
		return
	}
	for row := range v.Rows {
		if v.Has(row) {
			x.builder.Add(place, v.Texts.Entry(row))
		}
	}
}

func (x *indexer) endRowGroup() {
	if x != nil {
		x.builder.EndRowGroup()
	}
}
