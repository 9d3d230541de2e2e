package sqlplan

import (
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// class is what is known of an expression's type.
type class uint8

const (
	classUnknown class = iota
	classNumber
	classBool
	classTime
	classInterval
	classText
	classWidened // text because values of several types were stored: numbers in it are read by TRY_CAST
)

// column is a column of a relation.
type column struct {
	name    string // as the user knows it
	field   string // as the engine knows it
	class   class
	typ     signal.Type // of a stream's column, 0 if not known
	inStar  bool        // SELECT * shows it
	inTable bool        // a stream's own, not one of a subquery
}

// relation is what FROM names: a stream, a subquery, a common table expression, a function.
type relation struct {
	alias    string
	ref      int      // index of the stream's reference, or -1
	path     []string // database, signal, stream: what may qualify columns of a stream without alias
	columns  []column
	known    bool // columns is complete
	prunable bool // rows that fail the WHERE clause may be left out before anything else happens
	node     node // the table reference
}

// find returns the column that a name means: the exact name wins, then case is ignored.
func (r *relation) find(name string) *column {
	var near *column
	for i := range r.columns {
		c := &r.columns[i]
		switch {
		case c.name == name:
			return c
		case near == nil && (lowerEqual(c.field, name) || lowerEqual(c.name, name)):
			near = c
		}
	}
	return near
}

// qualifiedBy reports whether parts before a column may mean the relation.
func (r *relation) qualifiedBy(parts []string) bool {
	if len(parts) == 1 {
		return lowerEqual(parts[0], r.alias) || len(r.path) > 0 && lowerEqual(parts[0], r.path[len(r.path)-1])
	}
	if len(r.path) == 0 {
		return false
	}
	forms := [][]string{r.path[1:], r.path, {r.path[0], r.path[2]}}
	for _, form := range forms {
		if len(form) == len(parts) && lowerEqual(strings.Join(form, "\x00"), strings.Join(parts, "\x00")) {
			return true
		}
	}
	return false
}

// scope is what names mean inside one SELECT.
type scope struct {
	parent    *scope
	relations []*relation
	items     []column // of the select list, as far as it has been read
	lambda    []string // parameters of lambda functions around
	pivot     bool     // inside the aggregates of PIVOT
}

// found is what a column reference means.
type found struct {
	relation *relation // nil when the name is unknown, or common to several
	column   *column   // nil when the relation's columns are not known
	parts    []string  // how the reference is written in the plan
	clash    []*relation
}

// maxQualifiers is the number of parts that a stream's name may have before a column.
const maxQualifiers = 3

// resolve finds the meaning of a column reference, from the inside out.
func (s *scope) resolve(parts []string) found {
	for sc := s; sc != nil; sc = sc.parent {
		for k := min(len(parts)-1, maxQualifiers); k >= 1; k-- {
			if f, ok := sc.qualified(parts, k); ok {
				return f
			}
		}
		if f, ok := sc.plain(parts); ok {
			return f
		}
		for _, r := range sc.relations {
			if !r.known {
				return found{parts: parts}
			}
		}
	}
	return found{parts: parts}
}

// qualified reads the first k parts as the name of a relation.
func (s *scope) qualified(parts []string, k int) (found, bool) {
	var hits []*relation
	for _, r := range s.relations {
		if r.qualifiedBy(parts[:k]) {
			hits = append(hits, r)
		}
	}
	switch len(hits) {
	case 0:
		return found{}, false
	case 1:
	default:
		return found{parts: parts, clash: hits}, true
	}
	r, rest := hits[0], parts[k:]
	c := r.find(rest[0])
	if c == nil && len(rest) > 1 {
		if c = r.find(strings.Join(rest, ".")); c != nil {
			rest = []string{c.field}
		}
	}
	if c != nil && c.name == rest[0] {
		rest = append([]string{c.field}, rest[1:]...)
	}
	return found{relation: r, column: c, parts: append([]string{r.alias}, rest...)}, true
}

// plain reads the first part as a column, or all parts as a column whose name has dots.
func (s *scope) plain(parts []string) (found, bool) {
	for n := 1; n <= len(parts); n++ {
		name := strings.Join(parts[:n], ".")
		var hits []found
		for _, r := range s.relations {
			if c := r.find(name); c != nil {
				field := name
				if c.name == name || n > 1 {
					field = c.field
				}
				hits = append(hits, found{relation: r, column: c, parts: append([]string{field}, parts[n:]...)})
			}
		}
		if len(hits) == 1 {
			return hits[0], true
		}
		if len(hits) > 1 { // common to several, as after USING
			f := found{column: hits[0].column, parts: parts}
			for _, h := range hits {
				if h.column.class == classWidened {
					f.column = h.column
				}
			}
			return f, true
		}
	}
	return found{}, false
}

// item returns the class of a select item by its alias.
func (s *scope) item(name string) (class, bool) {
	for _, c := range s.items {
		if lowerEqual(c.name, name) {
			return c.class, true
		}
	}
	return classUnknown, false
}

// hiddenColumns are columns of ours that SELECT * does not show.
func hiddenColumns() []string { return []string{signal.NanosColumn, signal.BlockColumn} }

// streamColumns returns the columns of a stream: the catalog's and those that every stream has.
func streamColumns(cols []catalog.Column) []column {
	out := make([]column, 0, len(cols)+4)
	own := map[string]bool{}
	for _, c := range cols {
		typ, widened := c.Types.Resolve()
		col := column{name: c.Name, field: c.Physical, class: classOf(typ), typ: typ, inStar: true, inTable: true}
		if widened {
			col.class = classWidened
		}
		own[c.Name] = true
		out = append(out, col)
	}
	ours := []column{
		{name: signal.TimeColumn, class: classTime, typ: signal.Timestamp, inStar: true},
		{name: signal.NanosColumn, class: classNumber, typ: signal.Int64},
		{name: signal.BlockColumn, class: classNumber, typ: signal.Int64},
		{name: signal.OverflowColumn, class: classText, typ: signal.JSON, inStar: true},
	}
	for _, c := range ours {
		if !own[c.name] {
			c.field, c.inTable = c.name, true
			out = append(out, c)
		}
	}
	for i := range out {
		for _, h := range hiddenColumns() {
			out[i].inStar = out[i].inStar && out[i].name != h
		}
	}
	return out
}

func classOf(t signal.Type) class {
	switch t {
	case signal.Bool:
		return classBool
	case signal.Int64, signal.Float64:
		return classNumber
	case signal.Timestamp:
		return classTime
	case signal.String, signal.JSON:
		return classText
	default:
		return classUnknown
	}
}
