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
	slices  []uint8 // by text
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

// add takes the chunk of f that was written last, of so many rows. A nil indexer does nothing.
func (x *indexer) add(f *field, file *parquetfile.Writer, chunk *parquetfile.Chunk, rows int) {
	if x == nil {
		return
	}
	place, ok := x.places[f]
	if !ok {
		return
	}
	texts, places := file.Distinct()
	value := 0 // of those that are not null
	x.builder.AddBytes(place, x.slice(rows, len(texts), func(row int) (text, size int) {
		if len(chunk.Present) > 0 && !chunk.Present[row] {
			return -1, 0
		}
		text = value
		if places != nil {
			text = int(places[value])
		}
		value++
		return text, len(texts[text])
	}))
	for i, text := range texts {
		x.builder.Add(place, unsafe.Slice(unsafe.StringData(text), len(text)), x.slices[i]) // read, not kept
	}
}

// slice finds the slice of the rows of each text, and returns the bytes of all rows. Which tells the text of a row and its size, or a
// negative one; it is asked in order.
func (x *indexer) slice(rows, texts int, which func(row int) (text, size int)) (bytes int) {
	const none = searchindex.AnySlice + 1
	x.slices = x.slices[:0]
	for range texts {
		x.slices = append(x.slices, none)
	}
	for row := range rows {
		text, size := which(row)
		if text < 0 {
			continue
		}
		bytes += size
		switch slice := searchindex.SliceOf(row, rows); x.slices[text] {
		case none:
			x.slices[text] = slice
		case slice:
		default:
			x.slices[text] = searchindex.AnySlice
		}
	}
	return bytes
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
	t := &v.Texts
	x.builder.AddBytes(place, x.slice(v.Rows, len(t.Starts), func(row int) (text, size int) {
		if !v.Has(row) {
			return -1, 0
		}
		text = row
		if t.Index != nil {
			text = int(t.Index[row])
		}
		return text, int(t.Ends[text] - t.Starts[text])
	}))
	for i := range t.Starts {
		if t.Index != nil || v.Has(i) {
			x.builder.Add(place, t.Entry(i), x.slices[i])
		}
	}
}

func (x *indexer) endRowGroup() {
	if x != nil {
		x.builder.EndRowGroup()
	}
}
