package rowfind

import (
	"fmt"
	"slices"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/searchindex"
)

// hit is the rows that were found in one row group.
type hit struct {
	file  *openFile
	group int
	limit int // rows before which all that are wanted lie
	rows  []int32
	times []int64
	nanos []int64       // nil when there are none or they are not wanted
	parts map[int]*part // by column of the file
	read  int64         // bytes of the file, not counted yet
	bytes int64         // of the parts, about
}

// part is the values of one column in the rows of a hit.
type part struct {
	ints    []int64
	floats  []float64
	bools   []bool
	texts   [][]byte
	present []bool // nil: all
}

// worker is what one goroutine needs.
type worker struct {
	*scratch
	query   *Query
	file    *openFile                   // of the row group at hand, as are the
	columns map[int]*parquetfile.Values // that were read

	counts     map[string]int64 // by key
	key        []byte
	cells      []uint32
	codeMemory [][]uint32 // of the row group at hand
	codesUsed  int
}

// scratch is memory that one search leaves to the next.
type scratch struct {
	decoder *parquetfile.Decoder
	spare   map[string]*parquetfile.Values // by column: those of one name are alike
	rows    [2][]int32
}

// Bounds of what scratch keeps.
const (
	maxSpareColumns = 64
	maxSpareBytes   = 8 << 20 // of one column's texts
)

func (s *Search) newWorker() (*worker, error) {
	memory, ok := s.footers.scratch.Get().(*scratch)
	if !ok {
		d, err := parquetfile.NewDecoder()
		if err != nil {
			return nil, err
		}
		memory = &scratch{decoder: d, spare: make(map[string]*parquetfile.Values)}
	}
	return &worker{scratch: memory, query: &s.query, columns: make(map[int]*parquetfile.Values), counts: make(map[string]int64)}, nil
}

// look finds the rows of a row group that fulfil time and conditions, with the values of those columns.
func (w *worker) look(t *task) (*hit, error) {
	defer w.forget()
	h := &hit{file: t.file, group: t.group, limit: t.file.footer.Rows(t.group), parts: make(map[int]*part)}
	rows, err := w.filter(t, h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file.Path, err)
	}
	if len(rows) == 0 {
		return h, nil
	}
	h.rows = append(h.rows, rows...)
	times, err := w.column(h, t.file.time)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file.Path, err)
	}
	h.times = make([]int64, len(h.rows))
	for i, row := range h.rows {
		h.times[i] = times.Ints[row]
	}
	for column := range w.columns {
		if slices.Contains(t.file.fields, column) {
			h.take(column, w.columns[column])
		}
	}
	return h, nil
}

// filter returns the rows that are left. The slice belongs to the worker.
func (w *worker) filter(t *task, h *hit) ([]int32, error) {
	rows := w.inSlices(h) // nil: all
	if rows != nil && len(rows) == 0 {
		return nil, nil
	}
	turn := 1
	next := func(v *parquetfile.Values, keep func(dst, rows []int32, v *parquetfile.Values) []int32) bool {
		kept := keep(w.rows[turn][:0], rows, v)
		w.rows[turn] = kept
		rows, turn = kept, 1-turn
		return len(rows) > 0
	}
	if q := w.query; t.low < q.Start || t.high >= q.End {
		v, err := w.column(h, t.file.time)
		if err != nil {
			return nil, err
		}
		inside := func(row int) bool { return v.Ints[row] >= q.Start && v.Ints[row] < q.End }
		if !next(v, func(dst, rows []int32, v *parquetfile.Values) []int32 { return choose(dst, rows, v, inside) }) {
			return nil, nil
		}
	}
	for i := range t.file.Conditions {
		v, err := w.column(h, t.file.tests[i])
		if err != nil {
			return nil, err
		}
		if !next(v, t.file.Conditions[i].filter) {
			return nil, nil
		}
	}
	if rows == nil {
		for row := range t.file.footer.Rows(t.group) {
			w.rows[0] = append(w.rows[0][:row], int32(row))
		}
		rows = w.rows[0]
	}
	return rows, nil
}

// inSlices returns the rows of the slices that may be read, or nil for all, and sets the hit's limit behind them. The slice belongs to the
// worker.
func (w *worker) inSlices(h *hit) []int32 {
	if h.group >= len(h.file.Slices) || h.file.Slices[h.group]&searchindex.AllSlices == searchindex.AllSlices {
		return nil
	}
	total := h.limit
	h.limit = 0
	rows := slices.Grow(w.rows[0][:0], total) // not nil
	for slice := range searchindex.Slices {
		if h.file.Slices[h.group]>>slice&1 == 0 {
			continue
		}
		start, end := searchindex.SliceRows(slice, total)
		for row := start; row < end; row++ {
			rows = append(rows, int32(row))
		}
		h.limit = end
	}
	w.rows[0] = rows
	return rows
}

// column reads a column of the hit's row group, once.
func (w *worker) column(h *hit, column int) (*parquetfile.Values, error) {
	if v := w.columns[column]; v != nil {
		return v, nil
	}
	w.file = h.file
	name := h.file.footer.Columns()[column].Name
	v := w.spare[name]
	if v == nil {
		v = new(parquetfile.Values)
	}
	delete(w.spare, name)
	first := parquetfile.First{Group: h.group, Column: column, Rows: h.limit}
	if err := w.decoder.ReadFirst(h.file.file, h.file.footer, first, v); err != nil {
		return nil, err
	}
	h.read += h.file.footer.ChunkBytes(h.group, column)
	w.columns[column] = v
	return v, nil
}

// forget lets the memory of the row group's columns be used again.
func (w *worker) forget() {
	for c, v := range w.columns {
		if len(w.spare) < maxSpareColumns && cap(v.Texts.Bytes) <= maxSpareBytes {
			w.spare[w.file.footer.Columns()[c].Name] = v
		}
		delete(w.columns, c)
	}
	w.codesUsed = 0
}

// complete reads the wanted columns that the hit lacks.
func (w *worker) complete(h *hit) error {
	defer w.forget()
	h.limit = int(h.rows[len(h.rows)-1]) + 1
	if c := h.file.nanos; c >= 0 {
		v, err := w.column(h, c)
		if err != nil {
			return fmt.Errorf("%s: %w", h.file.Path, err)
		}
		h.nanos = make([]int64, len(h.rows))
		for i, row := range h.rows {
			h.nanos[i] = v.Ints[row]
		}
	}
	for _, c := range h.file.fields {
		if c < 0 || h.parts[c] != nil {
			continue
		}
		v, err := w.column(h, c)
		if err != nil {
			return fmt.Errorf("%s: %w", h.file.Path, err)
		}
		h.take(c, v)
	}
	return nil
}

// take copies the values of the hit's rows.
func (h *hit) take(column int, v *parquetfile.Values) {
	p := &part{}
	n := len(h.rows)
	if v.Present != nil {
		p.present = make([]bool, n)
		for i, row := range h.rows {
			p.present[i] = v.Present[row]
		}
	}
	switch h.file.footer.Columns()[column].Kind {
	case parquetfile.Bool:
		p.bools = pick(v.Bools, h.rows)
	case parquetfile.Float64:
		p.floats = pick(v.Floats, h.rows)
	case parquetfile.Text, parquetfile.JSON:
		size := 0
		for _, row := range h.rows {
			size += len(v.Texts.Row(int(row)))
		}
		memory := make([]byte, 0, size)
		p.texts = make([][]byte, n)
		for i, row := range h.rows {
			start := len(memory)
			memory = append(memory, v.Texts.Row(int(row))...)
			p.texts[i] = memory[start:]
		}
		h.bytes += int64(size)
	default:
		p.ints = pick(v.Ints, h.rows)
	}
	h.bytes += int64(n) * 8
	h.parts[column] = p
}

func pick[T any](values []T, rows []int32) []T {
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = values[row]
	}
	return out
}

// count adds what was read to the file's statistics.
func (h *hit) count() {
	h.file.stats.Bytes += h.read
	h.read = 0
}

// keep drops the rows for which want is false.
func (h *hit) keep(want func(i int) bool) *hit {
	var at []int32
	for i := range h.rows {
		if want(i) {
			at = append(at, int32(i))
		}
	}
	if len(at) == len(h.rows) {
		return h
	}
	out := &hit{
		file: h.file, group: h.group, limit: h.limit, rows: pick(h.rows, at), times: pick(h.times, at), parts: make(map[int]*part),
		bytes: h.bytes * int64(len(at)) / int64(len(h.rows)),
	}
	for c, p := range h.parts {
		q := &part{}
		if p.present != nil {
			q.present = pick(p.present, at)
		}
		switch {
		case p.ints != nil:
			q.ints = pick(p.ints, at)
		case p.floats != nil:
			q.floats = pick(p.floats, at)
		case p.bools != nil:
			q.bools = pick(p.bools, at)
		default:
			q.texts = pick(p.texts, at)
		}
		out.parts[c] = q
	}
	return out
}
