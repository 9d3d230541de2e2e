package querier

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// table is one reference of a statement to a stream, and what its view reads. Where several orgs are asked, a reference has a table for
// the stream of each, and they share the view.
type table struct {
	sqlplan.Table
	stream   *stream
	time     sqlplan.TimeRange // rows outside are hidden: the request's time and retention
	segments []catalog.Segment // left after pruning
	empty    bool              // no row of it can be used
	// blocks are the row groups that may be read of segments that the index restricts; other segments are read whole.
	blocks map[catalog.SegmentID][]int
	// slices are the masks of the slices that may be read, by row group, of segments of which the index knows them.
	slices map[catalog.SegmentID][]uint8
	// overlaps are the times in which a metric's samples may be there twice, ascending and apart; none for other signals.
	overlaps []overlap
	// found holds rows that were read in front of the engine; their segments are not in segments any more but in searched.
	found    *freshTable
	searched searched
	counted  bool // the view shows sqlplan.CountColumn: how many rows each of its rows stands for
}

// variant is a column of a file or of a temporary table that holds the values of one type.
type variant struct {
	name string
	typ  signal.Type
}

// columns returns the columns that the view shows: in the order of SELECT *, hidden ones last.
func (t *table) columns() []column {
	var out []column
	for _, c := range t.stream.columns {
		if t.Columns.All && !c.named || slices.Contains(t.Columns.Names, c.Physical) {
			out = append(out, c)
		}
	}
	return out
}

func (t *table) names(column string) bool { return slices.Contains(t.Columns.Names, column) }

// wanted returns the logical names of the columns that the view reads.
func (t *table) wanted() map[string]bool {
	out := make(map[string]bool)
	for _, c := range t.columns() {
		switch {
		case c.label:
			out[signal.LabelsColumn] = true
		case !c.tenant:
			out[c.Name] = true
		}
	}
	if t.stream.isMetric() {
		out[signal.MetricColumn] = true
		if len(t.overlaps) > 0 {
			out[signal.LabelsColumn] = true
		}
		for _, name := range sampleColumns() {
			out[name] = true
		}
	}
	return out
}

// viewSQL writes the view of the tables of one name: for each, one SELECT for each group of files that have the needed columns in the same
// types, and one for the fresh rows. All of them give the same columns in the same order. Where a metric's samples may be there twice, they
// come in one more SELECT, without duplicates.
func viewSQL(tables []*table, paths map[catalog.SegmentID]string, fresh map[catalog.DatasetID]*freshTable) string {
	var selects []string
	for _, t := range tables {
		columns := t.columns()
		var twice []string
		key := newKeyNames(columns)
		for _, g := range t.groups(columns) {
			selects = append(selects, t.selectFiles(columns, g, paths, nil))
			if g.overlapped {
				twice = append(twice, t.selectFiles(columns, g, paths, &key))
			}
		}
		if f := fresh[t.stream.Dataset]; f != nil && !t.empty {
			selects = append(selects, t.selectFresh(columns, f, nil))
			if len(t.overlaps) > 0 {
				twice = append(twice, t.selectFresh(columns, f, &key))
			}
		}
		if len(twice) > 0 {
			selects = append(selects, t.withoutDuplicates(columns, key, twice))
		}
		if t.found != nil {
			selects = append(selects, t.selectFresh(columns, t.found, nil))
		}
	}
	if len(selects) == 0 {
		selects = append(selects, tables[0].selectNothing(tables[0].columns()))
	}
	return "CREATE OR REPLACE TEMP VIEW " + ident(tables[0].Name) + " AS " + strings.Join(selects, " UNION ALL ")
}

// group is files that one scan can read.
type group struct {
	segments []catalog.Segment
	variants [][]variant // by column of the view
	nanos    bool        // the files have signal.NanosColumn, and it is needed
	inside   bool        // all rows are in the time range
	// Of metrics:
	sampled    []string // columns of which a row must have one to be shown; none where every row has
	overlapped bool     // some rows lie in an overlap of the table
	versions   bool     // the files have signal.VersionColumn, and it is needed
}

// groups sorts the segments by what a scan must know of them.
func (t *table) groups(columns []column) []*group {
	byKey := make(map[string]*group)
	var out []*group
	for _, s := range t.segments {
		g := &group{inside: s.MinTime >= t.time.Start && s.MaxTime < t.time.End, variants: make([][]variant, len(columns))}
		var key strings.Builder
		for i, c := range columns {
			g.variants[i] = variantsOf(&s, c, t.stream.isMetric())
			for _, v := range g.variants[i] {
				fmt.Fprintf(&key, "%q %d,", v.name, v.typ)
			}
			key.WriteByte(';')
		}
		_, restricted := t.blocks[s.ID]
		g.sampled, g.overlapped = t.sampled(&s), t.isOverlapped(&s)
		g.nanos = (g.overlapped || t.names(signal.NanosColumn)) && slices.ContainsFunc(s.Columns, func(c catalog.SegmentColumn) bool {
			return c.ID == 0 && c.Physical == signal.NanosColumn
		})
		g.versions = g.overlapped && slices.ContainsFunc(s.Columns, func(c catalog.SegmentColumn) bool {
			return c.Physical == signal.VersionColumn
		})
		fmt.Fprint(&key, g.nanos, g.inside, restricted, g.sampled, g.overlapped, g.versions)
		if byKey[key.String()] == nil {
			byKey[key.String()] = g
			out = append(out, g)
		}
		have := byKey[key.String()]
		have.segments = append(have.segments, s)
	}
	return out
}

// variantsOf returns the columns of a file that hold a column's values. The columns of metrics datasets are known by name, since
// ids are those of a stream.
func variantsOf(s *catalog.Segment, c column, metric bool) []variant {
	field := c.Physical
	if c.label {
		field = signal.LabelsColumn
	}
	var out []variant
	for _, x := range s.Columns {
		if metric && x.Physical == field || !metric && x.ID == c.ID && c.ID != 0 {
			out = append(out, variant{x.Physical, x.Type})
		}
	}
	return out
}

// selectFiles reads a group: with key its rows in the table's overlaps and what tells duplicates apart, else all others.
func (t *table) selectFiles(columns []column, g *group, paths map[catalog.SegmentID]string, key *keyNames) string {
	items := []string{ident(signal.TimeColumn)}
	for i, c := range columns {
		items = append(items, t.item(c, g.variants[i]))
	}
	nanos := "CAST(0 AS SMALLINT)"
	if g.nanos {
		nanos = ident(signal.NanosColumn)
	}
	if t.names(signal.NanosColumn) {
		items = append(items, nanos+" AS "+ident(signal.NanosColumn))
	}
	if t.names(signal.BlockColumn) {
		items = append(items, ident(signal.BlockColumn))
	}
	if key != nil {
		items = append(items, key.items(ident(signal.LabelsColumn), nanos, versionOfFile(g.versions), "0")...)
	}
	items = append(items, t.countItem(nil)...)
	files := make([]string, len(g.segments))
	for i, s := range g.segments {
		files[i] = literal(duck.PatternPath(paths[s.ID]))
	}
	from := "read_parquet([" + strings.Join(files, ", ") + "], hive_partitioning=false)"
	where := t.conditions(ident(signal.TimeColumn), ident(signal.MetricColumn), g.inside)
	if blocks := t.blocksCondition(g.segments); blocks != "" {
		where = append(where, blocks)
	}
	where = append(where, anyPresent(g.sampled)...)
	if g.overlapped {
		where = append(where, t.overlapCondition(key == nil, ident(signal.TimeColumn)))
	}
	return selectSQL(items, from, where)
}

// selectFresh reads the fresh rows: with key those in the table's overlaps and what tells duplicates apart, else all others.
func (t *table) selectFresh(columns []column, f *freshTable, key *keyNames) string {
	items := []string{"t AS " + ident(signal.TimeColumn)}
	for _, c := range columns {
		name := c.Name
		if c.label {
			name = signal.LabelsColumn
		}
		items = append(items, t.item(c, f.variants(name)))
	}
	nanos := "CAST(0 AS SMALLINT)"
	if f.nanos != "" {
		nanos = "coalesce(" + f.nanos + ", " + nanos + ")"
	}
	if t.names(signal.NanosColumn) {
		items = append(items, nanos+" AS "+ident(signal.NanosColumn))
	}
	if t.names(signal.BlockColumn) {
		items = append(items, "CAST(NULL AS BIGINT) AS "+ident(signal.BlockColumn))
	}
	if key != nil {
		items = append(items, key.items(f.text(signal.LabelsColumn), nanos, versionOfFresh(), "rowid")...)
	}
	counts := f.variants(sqlplan.CountColumn)
	items = append(items, t.countItem(counts)...)
	if len(counts) > 0 {
		return selectSQL(items, ident(f.name), nil) // its times are cut down, and all of its rows count
	}
	where := t.conditions("t", f.text(signal.MetricColumn), false)
	if t.stream.isMetric() {
		var sampled []string
		for _, name := range sampleColumns() {
			for _, v := range f.variants(name) {
				sampled = append(sampled, v.name)
			}
		}
		if len(sampled) == 0 {
			sampled = noSample()
		}
		where = append(where, anyPresent(sampled)...)
	}
	if len(t.overlaps) > 0 {
		where = append(where, t.overlapCondition(key == nil, "t"))
	}
	return selectSQL(items, ident(f.name), where)
}

func (t *table) selectNothing(columns []column) string {
	items := []string{"CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS " + ident(signal.TimeColumn)}
	for _, c := range columns {
		items = append(items, t.item(c, nil))
	}
	if t.names(signal.NanosColumn) {
		items = append(items, "CAST(NULL AS SMALLINT) AS "+ident(signal.NanosColumn))
	}
	if t.names(signal.BlockColumn) {
		items = append(items, "CAST(NULL AS BIGINT) AS "+ident(signal.BlockColumn))
	}
	items = append(items, t.countItem(nil)...)
	return "SELECT " + strings.Join(items, ", ") + " WHERE false"
}

// countItem says how many rows a row stands for, if the view says it: what the column of counts says, else one.
func (t *table) countItem(counts []variant) []string {
	switch {
	case !t.counted:
		return nil
	case len(counts) > 0:
		return []string{ident(counts[0].name) + " AS " + ident(sqlplan.CountColumn)}
	default:
		return []string{"CAST(1 AS BIGINT) AS " + ident(sqlplan.CountColumn)}
	}
}

// conditions hide rows: other metrics of the dataset, and what is outside the time range.
func (t *table) conditions(time, metric string, inside bool) []string {
	var out []string
	if t.stream.isMetric() {
		out = append(out, metric+" = "+literal(t.stream.Name))
	}
	if !inside && t.time.Start != sqlplan.MinTime {
		out = append(out, time+" >= "+moment(t.time.Start))
	}
	if !inside && t.time.End != sqlplan.MaxTime {
		out = append(out, time+" < "+moment(t.time.End))
	}
	return out
}

func selectSQL(items []string, from string, where []string) string {
	s := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if len(where) > 0 {
		s += " WHERE " + strings.Join(where, " AND ")
	}
	return s
}

// item writes a column of the view in its type of today.
func (t *table) item(c column, variants []variant) string {
	expr := "CAST(NULL AS " + sqlType(c.typ) + ")"
	switch {
	case c.tenant:
		expr = literal(string(t.stream.Org))
	case len(variants) > 0 && c.label:
		expr = labelOf(ident(variants[0].name), c.Name)
	case len(variants) == 1:
		expr = castSQL(variants[0], c.typ)
	case len(variants) > 1:
		casts := make([]string, len(variants))
		for i, v := range variants {
			casts[i] = castSQL(v, c.typ)
		}
		expr = "coalesce(" + strings.Join(casts, ", ") + ")"
	}
	if expr == ident(c.Physical) {
		return expr
	}
	return expr + " AS " + ident(c.Physical)
}

func castSQL(v variant, to signal.Type) string {
	if v.typ == to {
		return ident(v.name)
	}
	return "CAST(" + ident(v.name) + " AS " + sqlType(to) + ")"
}

// moment writes microseconds since the epoch.
func moment(micros int64) string { return "make_timestamptz(" + strconv.FormatInt(micros, 10) + ")" }

// ident quotes an identifier, literal a text.
func ident(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
