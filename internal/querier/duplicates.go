package querier

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Samples of a metric that came to several writers, or a second time, may lie in several files and buffers at once; of those of one series
// and time the one of the greatest version counts (docs/format/metrics.md). A file alone has no duplicates. So only the times matter in
// which files and buffers overlap: the view looks for duplicates there and reads everything else as it is.

// maxOverlaps bounds the time ranges that a view names.
const maxOverlaps = 32

// overlap is a range of times in which samples may be there twice: microseconds, both ends inclusive.
type overlap struct{ start, end int64 }

// extent bounds the samples of a metric in a file or in a fresh record.
type extent struct {
	overlap
	fresh  bool
	least  string // label sets, both inclusive
	most   string
	labels bool // least and most are known
}

func (e *extent) sharesLabels(o *extent) bool {
	return !e.labels || !o.labels || e.least <= o.most && o.least <= e.most
}

// extentOf returns what the catalog tells of a segment.
func extentOf(s *catalog.Segment) extent {
	e := extent{overlap: overlap{s.MinTime, s.MaxTime}}
	for _, c := range s.Columns {
		if c.Physical == signal.LabelsColumn && c.Min != "" {
			e.least, e.most, e.labels = c.Min, c.Max, true
		}
	}
	return e
}

// findOverlaps sets the times in which rows of a metric may be duplicates: among the segments, which are all that the metric may have
// samples in, and its fresh records.
func (t *table) findOverlaps(segments []catalog.Segment, records []arrow.RecordBatch) {
	extents := make([]extent, 0, len(segments)+len(records))
	for i := range segments {
		extents = append(extents, extentOf(&segments[i]))
	}
	scan := freshScan{metric: t.stream.Name, time: t.time.Intersect(t.Time)}
	for _, r := range records {
		if e, ok := scan.extent(r); ok {
			extents = append(extents, e)
		}
	}
	t.overlaps = fewer(append(scan.repeated(records), overlapsOf(extents)...))
}

// overlapsOf returns the times in which any two extents meet, but for two fresh ones.
func overlapsOf(extents []extent) []overlap {
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	var out []overlap
	var open []*extent // those that have not ended
	for i := range extents {
		e := &extents[i]
		open = slices.DeleteFunc(open, func(o *extent) bool { return o.end < e.start })
		end := int64(math.MinInt64)
		for _, o := range open {
			if end < e.end && (!o.fresh || !e.fresh) && e.sharesLabels(o) {
				end = max(end, min(o.end, e.end))
			}
		}
		if end >= e.start {
			out = append(out, overlap{e.start, end})
		}
		open = append(open, e)
	}
	return out
}

// fewer joins ranges that meet, and then those beside the smallest gaps until few are left.
func fewer(ranges []overlap) []overlap {
	slices.SortFunc(ranges, func(a, b overlap) int { return cmp.Compare(a.start, b.start) })
	joined := joinGaps(ranges, 0)
	if len(joined) <= maxOverlaps {
		return joined
	}
	gaps := make([]int64, 0, len(joined)-1)
	for i := 1; i < len(joined); i++ {
		gaps = append(gaps, joined[i].start-joined[i-1].end)
	}
	slices.Sort(gaps)
	return joinGaps(joined, gaps[len(gaps)-maxOverlaps])
}

// joinGaps joins sorted ranges whose distance is at most gap.
func joinGaps(ranges []overlap, gap int64) []overlap {
	var out []overlap
	for _, r := range ranges {
		if n := len(out); n > 0 && r.start-out[n-1].end <= gap {
			out[n-1].end = max(out[n-1].end, r.end)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// isOverlapped reports whether a segment lies in one of the table's overlaps, in part at least.
func (t *table) isOverlapped(s *catalog.Segment) bool {
	return slices.ContainsFunc(t.overlaps, func(o overlap) bool { return s.MinTime <= o.end && s.MaxTime >= o.start })
}

// overlapCondition writes that a time lies in one of the overlaps, or outside of all of them.
func (t *table) overlapCondition(outside bool, time string) string {
	parts := make([]string, len(t.overlaps))
	for i, o := range t.overlaps {
		parts[i] = time + " BETWEEN " + moment(o.start) + " AND " + moment(o.end)
	}
	in := "(" + strings.Join(parts, " OR ") + ")"
	if outside {
		return "NOT " + in
	}
	return in
}

// keyNames are the columns by which a view tells duplicates apart, under names that its own columns do not have.
type keyNames struct{ labels, nanos, version, row string }

func newKeyNames(columns []column) keyNames {
	suffix := ""
	for slices.ContainsFunc(columns, func(c column) bool {
		return strings.HasPrefix(strings.ToLower(c.Physical), "ms_key"+suffix)
	}) {
		suffix += "_"
	}
	name := func(what string) string { return ident("ms_key" + suffix + what) }
	return keyNames{name("labels"), name("nanos"), name("version"), name("row")}
}

// withoutDuplicates puts the selects of a metric's overlaps together and leaves of each series and time the row of the greatest version, of
// rows of one version the last one.
func (t *table) withoutDuplicates(columns []column, key keyNames, selects []string) string {
	items := []string{ident(signal.TimeColumn)}
	for _, c := range columns {
		items = append(items, ident(c.Physical))
	}
	for _, own := range []string{signal.NanosColumn, signal.BlockColumn} {
		if t.names(own) {
			items = append(items, ident(own))
		}
	}
	from := "(" + strings.Join(selects, " UNION ALL ") + ")"
	partition := strings.Join([]string{key.labels, ident(signal.TimeColumn), key.nanos}, ", ")
	return selectSQL(items, from, nil) + " QUALIFY row_number() OVER (PARTITION BY " + partition +
		" ORDER BY " + key.version + " DESC, " + key.row + " DESC) = 1"
}

// items writes the columns of a scan by which duplicates are told apart.
func (k *keyNames) items(labels, nanos, version, row string) []string {
	return []string{
		labels + " AS " + k.labels, "CAST(" + nanos + " AS SMALLINT) AS " + k.nanos, "CAST(" + version + " AS BIGINT) AS " + k.version,
		"CAST(" + row + " AS BIGINT) AS " + k.row,
	}
}

// versionOfFile writes the version of a file's rows: the segment that they were flushed to, which is that of their block until they are
// merged.
func versionOfFile(versions bool) string {
	flushed := ident(signal.BlockColumn) + " >> " + strconv.Itoa(columnar.BlockBits)
	if versions {
		return "coalesce(" + ident(signal.VersionColumn) + ", " + flushed + ")"
	}
	return flushed
}

// versionOfFresh writes the version of fresh rows, above that of all files.
func versionOfFresh() string { return strconv.FormatInt(math.MaxInt64, 10) }

// freshScan looks at the fresh rows of one metric in a range of time.
type freshScan struct {
	metric string
	time   sqlplan.TimeRange
	rows   int
}

// extent bounds the rows of a record. It is not ok without any.
func (f *freshScan) extent(r arrow.RecordBatch) (extent, bool) {
	e := extent{overlap: overlap{math.MaxInt64, math.MinInt64}, fresh: true}
	f.each(r, func(micros int64, _ int) {
		e.start, e.end = min(e.start, micros), max(e.end, micros)
		f.rows++
	})
	return e, e.end >= e.start
}

// each calls visit with the rows.
func (f *freshScan) each(r arrow.RecordBatch, visit func(micros int64, row int)) {
	metrics := texts(r, signal.MetricColumn)
	if metrics == nil {
		return
	}
	for row, t := range signal.Times(r) {
		if int64(t) >= f.time.Start && int64(t) < f.time.End && metrics.Value(row) == f.metric {
			visit(int64(t), row)
		}
	}
}

// repeated returns the times at which several rows of the records may be of one series: rows with equal hashes. It follows the extents of
// the same records, which have counted the rows.
func (f *freshScan) repeated(records []arrow.RecordBatch) []overlap {
	seen := newHashSet(f.rows)
	var out []overlap
	for _, r := range records {
		var labels *array.String
		last, series := "", uint64(0)
		f.each(r, func(micros int64, row int) {
			if labels == nil {
				labels = texts(r, signal.LabelsColumn)
				series = maphash.String(seen.seed, "")
			}
			if set := labels.Value(row); set != last {
				last, series = set, maphash.String(seen.seed, set)
			}
			if !seen.add(series ^ uint64(micros)*0x9e3779b97f4a7c15) {
				out = append(out, overlap{micros, micros})
			}
		})
	}
	return out
}

// hashSet is a set of hashes with room for a number of them; a hash of 0 counts as 1.
type hashSet struct {
	seed  maphash.Seed
	slots []uint64
	mask  uint64
}

func newHashSet(n int) *hashSet {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &hashSet{seed: maphash.MakeSeed(), slots: make([]uint64, size), mask: uint64(size - 1)}
}

// add is false when the hash is there already.
func (s *hashSet) add(h uint64) bool {
	h = max(h^h>>32, 1)
	for at := h & s.mask; ; at = (at + 1) & s.mask {
		switch s.slots[at] {
		case 0:
			s.slots[at] = h
			return true
		case h:
			return false
		}
	}
}
