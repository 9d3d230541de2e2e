package rowfind

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/signal"
)

// Found is what a search has found.
type Found struct {
	// Record holds the rows: event time, the digits below a microsecond if they are wanted and some file has them (Nanos), then the
	// fields of the query under their names. It is nil without rows; the caller releases it.
	Record arrow.RecordBatch
	Nanos  bool
	// Left are the files, by their place in Query.Files, of which no row is in the record and which the engine must read.
	Left []int
	// Start and End bound the event times for which the record is complete, End exclusive, both of a search in an Order.
	Start, End int64
	// Complete says that nothing is left to be found.
	Complete bool
}

// All finds all rows, but those of files that hold too many of them.
func (s *Search) All(ctx context.Context) (*Found, error) {
	const sample = 8 // row groups before anything is projected
	rows, bytes, groups := 0, int64(0), 0
	todo := s.todo
	s.todo = nil
	tooMany := false
	err := s.run(ctx, todo, func(h *hit) bool {
		rows, bytes, groups = rows+len(h.rows), bytes+h.bytes, groups+1
		tooMany = rows > s.query.MaxRows || bytes > s.query.MaxBytes || groups >= sample && rows/groups*len(todo) > 2*s.query.MaxRows
		return tooMany
	})
	if err != nil {
		return nil, err
	}
	if tooMany {
		s.leaveUnfinished(todo)
	}
	hits := slices.DeleteFunc(s.hits, func(h *hit) bool { return h.file.left || len(h.rows) == 0 })
	fits, err := s.complete(ctx, hits)
	if err != nil {
		return nil, err
	}
	if !fits {
		hits = nil
		for _, f := range s.files {
			f.left = true
		}
	}
	out := &Found{Start: math.MinInt64, End: math.MaxInt64, Complete: true}
	for _, f := range s.files {
		if f.left {
			out.Left = append(out.Left, f.index)
		}
	}
	s.record(out, hits)
	return out, nil
}

// leaveUnfinished leaves the files to the engine of which not every row group was looked at.
func (s *Search) leaveUnfinished(todo []task) {
	looked := make(map[*openFile]int)
	for _, h := range s.hits {
		looked[h.file]++
	}
	for _, t := range todo {
		looked[t.file]--
	}
	for f, n := range looked {
		f.left = f.left || n < 0
	}
}

// maxHeld is how many times Query.MaxBytes First holds of rows of which most are not wanted in the end.
const maxHeld = 4

// First finds at least want rows of the end of time that Query.Order names, or all. It may be called again with a larger number. It is
// not ok when those are more than the query allows, or files are left to the engine: then nothing is found.
func (s *Search) First(ctx context.Context, want int) (_ *Found, ok bool, err error) {
	for _, f := range s.files {
		if f.left {
			return nil, false, nil
		}
	}
	bound, wave := s.bound(want), 2
	var bytes int64
	tooMany := func(h *hit) bool {
		bytes += h.bytes
		return bytes > maxHeld*s.query.MaxBytes
	}
	for len(s.todo) > 0 && !s.behind(bound) {
		tasks := s.todo[:min(wave, len(s.todo))]
		s.todo = s.todo[len(tasks):]
		if err := s.run(ctx, tasks, tooMany); err != nil {
			return nil, false, err
		}
		if bytes > maxHeld*s.query.MaxBytes { // some row group may not have been looked at
			s.todo = nil
			return nil, false, nil
		}
		s.hits = slices.DeleteFunc(s.hits, func(h *hit) bool { return len(h.rows) == 0 })
		bound, wave = s.bound(want), min(2*wave, 32)
		if s.tooMany(bound) {
			return nil, false, nil
		}
	}
	out := &Found{Start: math.MinInt64, End: math.MaxInt64, Complete: bound == nil}
	if bound != nil {
		if s.query.Order == Newest {
			out.Start = *bound
		} else {
			out.End = *bound + 1
		}
	}
	var hits []*hit
	for _, h := range s.hits {
		if h := h.keep(func(i int) bool { return h.times[i] >= out.Start && h.times[i] < out.End }); len(h.rows) > 0 {
			hits = append(hits, h)
		}
	}
	if fits, err := s.complete(ctx, hits); err != nil || !fits {
		return nil, false, err
	}
	s.record(out, hits)
	return out, true, nil
}

// bound returns the time of the want-th row found so far in the order asked for, or nil when there are fewer.
func (s *Search) bound(want int) *int64 {
	var times []int64
	for _, h := range s.hits {
		times = append(times, h.times...)
	}
	if len(times) < want {
		return nil
	}
	slices.Sort(times)
	if s.query.Order == Newest {
		return &times[len(times)-want]
	}
	return &times[want-1]
}

// behind reports whether all rows not looked at yet come after a time in the order asked for.
func (s *Search) behind(bound *int64) bool {
	switch {
	case bound == nil:
		return false
	case s.query.Order == Newest:
		return s.todo[0].high < *bound
	default:
		return s.todo[0].low > *bound
	}
}

// tooMany reports whether more rows are found, up to a time, than the query allows.
func (s *Search) tooMany(bound *int64) bool {
	rows, bytes := 0, int64(0)
	for _, h := range s.hits {
		bytes += h.bytes
		for _, t := range h.times {
			if bound == nil || s.query.Order == Newest && t >= *bound || s.query.Order == Oldest && t <= *bound {
				rows++
			}
		}
	}
	return rows > s.query.MaxRows || bytes > maxHeld*s.query.MaxBytes
}

// record makes the record of hits.
func (s *Search) record(out *Found, hits []*hit) {
	rows := 0
	for _, h := range hits {
		rows += len(h.rows)
		out.Nanos = out.Nanos || h.nanos != nil
	}
	if rows == 0 {
		return
	}
	fields := []arrow.Field{{Name: signal.TimeColumn, Type: signal.TimestampType}}
	if out.Nanos {
		fields = append(fields, arrow.Field{Name: signal.NanosColumn, Type: arrow.PrimitiveTypes.Int16, Nullable: true})
	}
	first := len(fields)
	for _, f := range s.query.Fields {
		fields = append(fields, f.Type.Field(f.Name))
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	b.Reserve(rows)
	for _, h := range hits {
		h.appendTimes(b, out.Nanos)
		for i, c := range h.file.fields {
			var p *part
			if c >= 0 {
				p = h.parts[c]
			}
			p.append(b.Field(first+i), len(h.rows))
		}
	}
	out.Record = b.NewRecordBatch()
}

func (h *hit) appendTimes(b *array.RecordBuilder, nanos bool) {
	times := b.Field(0).(*array.TimestampBuilder) //nolint:forcetypeassert // see record
	for _, t := range h.times {
		times.Append(arrow.Timestamp(t))
	}
	if !nanos {
		return
	}
	digits := b.Field(1).(*array.Int16Builder) //nolint:forcetypeassert // see record
	for i := range h.rows {
		if h.nanos == nil {
			digits.AppendNull()
		} else {
			digits.Append(int16(h.nanos[i]))
		}
	}
}

// append adds the values, or NULL for each row of a file without the column.
func (p *part) append(to array.Builder, rows int) {
	if p == nil {
		to.AppendNulls(rows)
		return
	}
	for i := range rows {
		if len(p.present) > 0 && !p.present[i] {
			to.AppendNull()
			continue
		}
		switch b := to.(type) {
		case *array.BooleanBuilder:
			b.Append(p.bools[i])
		case *array.Int64Builder:
			b.Append(p.ints[i])
		case *array.Float64Builder:
			b.Append(p.floats[i])
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(p.ints[i]))
		case *array.StringBuilder:
			b.BinaryBuilder.Append(p.texts[i])
		}
	}
}
