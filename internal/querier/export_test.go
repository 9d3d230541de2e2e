package querier

// Extent is extent for tests: times, and label sets unless both are empty.
type Extent struct {
	Start, End  int64
	Least, Most string
	Fresh       bool
}

// Overlaps returns the times in which extents meet, as few as a view names.
func Overlaps(extents ...Extent) [][2]int64 {
	list := make([]extent, len(extents))
	for i, e := range extents {
		list[i] = extent{overlap: overlap{e.Start, e.End}, fresh: e.Fresh, least: e.Least, most: e.Most, labels: e.Most != ""}
	}
	var out [][2]int64
	for _, o := range fewer(overlapsOf(list)) {
		out = append(out, [2]int64{o.start, o.end})
	}
	return out
}
