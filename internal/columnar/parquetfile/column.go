package parquetfile

// Kind is the type of a column's values.
type Kind uint8

// The kinds.
const (
	Bool      Kind = iota + 1
	Int16          // INT32 annotated as a signed 16-bit integer
	Int64          //
	Float64        //
	Text           // UTF-8
	JSON           // UTF-8 annotated as JSON
	Timestamp      // microseconds since the epoch, UTC
)

// Column describes one column of a file.
type Column struct {
	Name     string
	Kind     Kind
	FieldID  int32 // 0 = none
	Required bool  // no nulls; else the column is optional
	// Sequence asks for differences between neighbours as the encoding: right for values that ascend.
	Sequence bool
}

// Chunk is the values of one column in one row group: the slice that fits the column's kind, without the nulls. The writer
// does not keep it.
type Chunk struct {
	Ints   []int64 // Int16, Int64, Timestamp
	Floats []float64
	Bools  []bool
	Texts  []string // Text, JSON
	// Present tells, a row an element, whether the row has a value. Nil means that every row has one.
	Present []bool
}

// Stats is what a column's values are known to lie between. Those that WriteChunk returns own their texts.
type Stats struct {
	Nulls  int64
	Values int64 // that are not null
	// Unbounded is set when a float among the values is NaN, which no bounds hold (DuckDB orders it above all others).
	Unbounded          bool
	MinInt, MaxInt     int64 // Bool counts as 0 and 1
	MinFloat, MaxFloat float64
	MinText, MaxText   string
}

// Join widens s by the statistics of more values of the same kind.
func (s *Stats) Join(o Stats) {
	s.Nulls += o.Nulls
	s.Unbounded = s.Unbounded || o.Unbounded
	switch {
	case o.Values == 0:
		return
	case s.Values == 0:
		o.Nulls, o.Unbounded = s.Nulls, s.Unbounded
		*s = o
		return
	}
	s.Values += o.Values
	s.MinInt, s.MaxInt = min(s.MinInt, o.MinInt), max(s.MaxInt, o.MaxInt)
	s.MinFloat, s.MaxFloat = min(s.MinFloat, o.MinFloat), max(s.MaxFloat, o.MaxFloat)
	s.MinText, s.MaxText = min(s.MinText, o.MinText), max(s.MaxText, o.MaxText)
}

// statsOf measures a chunk. Distinct is the dictionary when there is one, which bounds texts faster than all the values.
func statsOf(c *Column, chunk *Chunk, rows int, distinct []string) Stats {
	var s Stats
	switch c.Kind {
	case Bool:
		s = boolStats(chunk.Bools)
	case Float64:
		s = floatStats(chunk.Floats)
	case Text, JSON:
		s = textStats(chunk.Texts, distinct)
	default:
		s = intStats(chunk.Ints)
	}
	s.Nulls = int64(rows) - s.Values
	return s
}

func boolStats(values []bool) Stats {
	s := Stats{Values: int64(len(values)), MinInt: 1}
	for _, v := range values {
		if v {
			s.MaxInt = 1
		} else {
			s.MinInt = 0
		}
	}
	return s
}

func intStats(values []int64) Stats {
	s := Stats{Values: int64(len(values))}
	if len(values) > 0 {
		s.MinInt, s.MaxInt = values[0], values[0]
	}
	for _, v := range values {
		s.MinInt, s.MaxInt = min(s.MinInt, v), max(s.MaxInt, v)
	}
	return s
}

func floatStats(values []float64) Stats {
	s := Stats{Values: int64(len(values))}
	first := true
	for _, v := range values {
		switch {
		case v != v:
			s.Unbounded = true
		case first:
			s.MinFloat, s.MaxFloat, first = v, v, false
		default:
			s.MinFloat, s.MaxFloat = min(s.MinFloat, v), max(s.MaxFloat, v)
		}
	}
	return s
}

func textStats(values, distinct []string) Stats {
	s := Stats{Values: int64(len(values))}
	if distinct == nil {
		distinct = values
	}
	if len(distinct) > 0 {
		s.MinText, s.MaxText = distinct[0], distinct[0]
	}
	for _, v := range distinct {
		if v < s.MinText {
			s.MinText = v
		} else if v > s.MaxText {
			s.MaxText = v
		}
	}
	return s
}
