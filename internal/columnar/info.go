package columnar

import (
	"math"
	"slices"
	"strconv"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
)

// Info is what the catalog keeps of a written file.
type Info struct {
	Bytes      int64
	Rows       int64
	Duplicates int64 // samples left out, since another of their series and time counts
	MinTime    int64 // least event time, microseconds since the epoch, inclusive
	MaxTime    int64 // greatest event time, microseconds since the epoch, inclusive
	RowGroups  int
	// Columns are the physical columns by id, then type. Of the columns of ours only signal.NanosColumn stands among them, with
	// id 0 and only if the file has it.
	Columns  []catalog.SegmentColumn
	Types    map[catalog.ColumnID]signal.TypeSet
	Checksum string // "xxh64:" + 16 hexadecimal digits
	Format   int
	Index    *searchindex.Builder // of all text columns by physical name, when WriteOptions.Index asked for it; else nil
}

// describe fills in what is known of the columns.
func (i *Info) describe(fields []*field, nanos bool) {
	i.Columns = make([]catalog.SegmentColumn, 0, len(fields)+1)
	if nanos {
		i.Columns = append(i.Columns, catalog.SegmentColumn{Physical: signal.NanosColumn, Type: signal.Int64})
	}
	i.Types = make(map[catalog.ColumnID]signal.TypeSet, len(fields))
	for _, f := range fields {
		i.Columns = append(i.Columns, f.segmentColumn())
		set := signal.SetOf(f.typ)
		if !f.exact {
			set |= signal.InexactInt
		}
		i.Types[f.column.ID] |= set
	}
}

func (f *field) segmentColumn() catalog.SegmentColumn {
	c := catalog.SegmentColumn{ID: f.column.ID, Physical: f.phys, Type: f.typ, Nulls: f.stats.Nulls}
	if f.stats.Values == 0 || f.stats.Unbounded {
		return c
	}
	switch f.typ {
	case signal.Bool:
		c.Min, c.Max = strconv.FormatBool(f.stats.MinInt == 1), strconv.FormatBool(f.stats.MaxInt == 1)
	case signal.Float64:
		c.Min, c.Max = strconv.FormatFloat(f.stats.MinFloat, 'g', -1, 64), strconv.FormatFloat(f.stats.MaxFloat, 'g', -1, 64)
	case signal.String, signal.JSON:
		least, leastExact := parquetfile.LowerBound(f.stats.MinText)
		greatest, greatestExact, ok := parquetfile.UpperBound(f.stats.MaxText)
		if ok {
			c.Min, c.Max, c.Exact = least, greatest, leastExact && greatestExact
		}
	default:
		c.Min, c.Max = strconv.FormatInt(f.stats.MinInt, 10), strconv.FormatInt(f.stats.MaxInt, 10)
	}
	return c
}

// measure joins the statistics of a row group's values.
func (f *field) measure(s parquetfile.Stats, chunk *parquetfile.Chunk) {
	f.stats.Join(s)
	if f.typ != signal.Int64 || !f.exact || s.Values == 0 || (s.MinInt >= -maxExactInt && s.MaxInt <= maxExactInt) {
		return
	}
	f.exact = !slices.ContainsFunc(chunk.Ints, signal.IsInexactInt)
}

const maxExactInt = math.MaxInt64 >> 10 // 2^53 - 1
