package sqlplan

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/signal"
)

// constraint is what holds for all rows of a table that take part.
type constraint struct {
	time       TimeRange
	predicates []Predicate
	words      []RequiredWords
}

func unlimited() constraint { return constraint{time: TimeRange{Start: MinTime, End: MaxTime}} }

// and adds another constraint that holds as well.
func (c *constraint) and(o constraint) {
	c.time = c.time.Intersect(o.time)
	c.predicates = append(c.predicates, o.predicates...)
	c.words = append(c.words, o.words...)
}

// constraints are what holds for the tables of a statement, by reference. A table that is not listed is unlimited.
type constraints map[int]constraint

func (c constraints) and(o constraints) {
	for ref, own := range o {
		mine, ok := c[ref]
		if !ok {
			mine = unlimited()
		}
		mine.and(own)
		c[ref] = mine
	}
}

// or keeps what holds in both: the span of both times.
func (c constraints) or(o constraints) constraints {
	out := constraints{}
	for ref, a := range c {
		if b, ok := o[ref]; ok {
			either := unlimited()
			either.time = TimeRange{Start: min(a.time.Start, b.time.Start), End: max(a.time.End, b.time.End)}
			out[ref] = either
		}
	}
	return out
}

// constrainSelect learns from the WHERE clause, before it is rewritten.
func (b *binder) constrainSelect(n node, sc *scope) {
	if w := n.sub("where_clause"); w != nil {
		b.constrain(w, sc)
	}
}

// constrain adds what a condition that must be true says about the prunable streams of the scope.
func (b *binder) constrain(condition node, sc *scope) {
	for ref, c := range b.learn(condition, sc) {
		b.tables[ref].limits.and(c)
	}
}

// learn returns what holds for rows for which e is true. Whatever it does not understand says nothing.
func (b *binder) learn(e node, sc *scope) constraints {
	children := e.list("children")
	switch {
	case e.kind() == "CONJUNCTION_AND":
		out := constraints{}
		for _, c := range children {
			out.and(b.learn(asNode(c), sc))
		}
		return out
	case e.kind() == "CONJUNCTION_OR":
		out := b.learn(asNode(children[0]), sc)
		for _, c := range children[1:] {
			out = out.or(b.learn(asNode(c), sc))
		}
		return out
	case e.class() == "COMPARISON":
		return b.learnComparison(e, sc)
	case e.class() == "BETWEEN":
		out := b.compare(e.sub("input"), GreaterOrEqual, e.sub("lower"), sc)
		out.and(b.compare(e.sub("input"), LessOrEqual, e.sub("upper"), sc))
		return out
	case e.kind() == "COMPARE_IN":
		return b.learnIn(children, sc)
	case e.kind() == "OPERATOR_IS_NOT_NULL":
		if ref, col := b.streamColumn(asNode(children[0]), sc); col != nil && col.name != signal.TimeColumn && col.typ != 0 {
			c := unlimited()
			c.predicates = []Predicate{{Column: col.field, Op: IsNotNull}}
			return constraints{ref: c}
		}
	case e.class() == "FUNCTION":
		return b.learnWords(e, sc)
	}
	return constraints{}
}

func (b *binder) learnComparison(e node, sc *scope) constraints {
	ops := map[string][2]Op{ // and the same with sides swapped
		"COMPARE_EQUAL":                {Equal, Equal},
		"COMPARE_LESSTHAN":             {Less, Greater},
		"COMPARE_LESSTHANOREQUALTO":    {LessOrEqual, GreaterOrEqual},
		"COMPARE_GREATERTHAN":          {Greater, Less},
		"COMPARE_GREATERTHANOREQUALTO": {GreaterOrEqual, LessOrEqual},
	}
	op, ok := ops[e.kind()]
	if !ok {
		return constraints{}
	}
	out := b.compare(e.sub("left"), op[0], e.sub("right"), sc)
	if len(out) == 0 {
		out = b.compare(e.sub("right"), op[1], e.sub("left"), sc)
	}
	return out
}

// streamColumn returns the column of a prunable stream of this SELECT that e is, or nil.
func (b *binder) streamColumn(e node, sc *scope) (ref int, col *column) {
	if e.class() != "COLUMN_REF" {
		return 0, nil
	}
	own := &scope{relations: sc.relations}
	f := own.resolve(e.texts("column_names"))
	if f.relation == nil || f.column == nil || !f.column.inTable || !f.relation.prunable || f.relation.ref < 0 {
		return 0, nil
	}
	for _, r := range sc.relations {
		if !r.known && len(e.texts("column_names")) == 1 {
			return 0, nil // the name may belong to a relation whose columns are not known
		}
	}
	if last := f.parts[len(f.parts)-1]; !lowerEqual(last, f.column.field) {
		return 0, nil
	}
	return f.relation.ref, f.column
}

// compare learns from column op constant.
func (b *binder) compare(left node, op Op, right node, sc *scope) constraints {
	if !b.isConstant(right) {
		return constraints{}
	}
	if inner, step := truncated(left); inner != nil {
		if ref, col := b.streamColumn(inner, sc); col != nil && col.name == signal.TimeColumn {
			return b.timeBound(ref, op, right, step)
		}
		return constraints{}
	}
	ref, col := b.streamColumn(left, sc)
	if col == nil {
		return constraints{}
	}
	if col.name == signal.TimeColumn {
		return b.timeBound(ref, op, right, 0)
	}
	c := unlimited()
	if p, ok := b.predicate(col, op, right); ok {
		c.predicates = []Predicate{p}
	}
	if words := equalWords(col, op, right); len(words) > 0 {
		c.words = []RequiredWords{{Column: col.field, Words: words}}
	}
	if len(c.predicates) == 0 && len(c.words) == 0 {
		return constraints{}
	}
	return constraints{ref: c}
}

// truncated returns what e cuts down to the start of a step, such as a day, and the longest step.
func truncated(e node) (inner node, step time.Duration) {
	const day = 24 * time.Hour
	if e.class() == "CAST" && e.sub("cast_type").str("id") == "DATE" {
		return e.sub("child"), day
	}
	children := e.list("children")
	if e.class() != "FUNCTION" || len(children) != 2 {
		return nil, 0
	}
	if name := e.str("function_name"); name != "date_trunc" && name != "datetrunc" {
		return nil, 0
	}
	_, unit, _ := constantValue(asNode(children[0]))
	switch strings.ToLower(unit) {
	case "second", "minute", "hour", "day":
		step = day
	case "week":
		step = 7 * day
	case "month":
		step = 31 * day
	case "quarter":
		step = 92 * day
	case "year":
		step = 366 * day
	default:
		return nil, 0
	}
	return asNode(children[1]), step
}

// timeBound learns from _timestamp op value, or from _timestamp cut down by less than step. Bounds are widened to whole microseconds on
// both sides, because a literal may have digits below them.
func (b *binder) timeBound(ref int, op Op, value node, step time.Duration) constraints {
	v, ok := b.eval(value, true)
	if !ok || !strings.HasPrefix(v.Type, "TIMESTAMP") {
		return constraints{}
	}
	c := unlimited()
	if op == Equal || op == Greater || op == GreaterOrEqual {
		c.time.Start = v.Micros
	}
	if op == Equal || op == Less || op == LessOrEqual {
		end := v.Micros
		for _, add := range []int64{1, step.Microseconds()} {
			if end > MaxTime-add {
				end = MaxTime - add
			}
			end += add
		}
		c.time.End = end
	}
	return constraints{ref: c}
}

// learnIn learns from column IN (constants).
func (b *binder) learnIn(children []any, sc *scope) constraints {
	const most = 1000
	ref, col := b.streamColumn(asNode(children[0]), sc)
	if col == nil || len(children) < 2 || len(children) > most {
		return constraints{}
	}
	out := Predicate{Column: col.field, Op: In}
	span := TimeRange{Start: MaxTime, End: MinTime}
	for _, e := range children[1:] {
		value := asNode(e)
		if !b.isConstant(value) {
			return constraints{}
		}
		if col.name == signal.TimeColumn {
			one, ok := b.timeBound(ref, Equal, value, 0)[ref]
			if !ok {
				return constraints{}
			}
			span = TimeRange{Start: min(span.Start, one.time.Start), End: max(span.End, one.time.End)}
			continue
		}
		p, ok := b.predicate(col, Equal, value)
		if !ok {
			return constraints{}
		}
		out.Values = append(out.Values, p.Values...)
	}
	c := unlimited()
	if col.name == signal.TimeColumn {
		c.time = span
	} else {
		c.predicates = []Predicate{out}
	}
	return constraints{ref: c}
}

// predicate makes a predicate that statistics can be held against, if the engine compares column and value in the column's own type.
func (b *binder) predicate(col *column, op Op, value node) (Predicate, bool) {
	v, ok := b.eval(value, col.typ == signal.Timestamp)
	if !ok {
		return Predicate{}, false
	}
	if v, ok = inTypeOf(col.typ, v); !ok {
		return Predicate{}, false
	}
	if col.typ == signal.Timestamp {
		op = looser(op)
	}
	return Predicate{Column: col.field, Op: op, Values: []Constant{v}}, true
}

// inTypeOf returns a constant as the engine reads it beside a column of type t: BIGINT, DOUBLE, VARCHAR, BOOLEAN or TIMESTAMP WITH TIME
// ZONE. It is false where the engine would rather read the column as something else.
func inTypeOf(t signal.Type, v Constant) (Constant, bool) {
	c := typeClass(v.Type)
	literal := c == classNumber || c == classText
	switch t {
	case signal.Int64:
		exact := v.Type != "DOUBLE" && v.Type != "FLOAT" && !strings.HasPrefix(v.Type, "DECIMAL")
		n, err := strconv.ParseInt(v.Text, 10, 64)
		return Constant{Type: "BIGINT", Text: strconv.FormatInt(n, 10)}, literal && exact && err == nil
	case signal.Float64:
		f, err := strconv.ParseFloat(v.Text, 64)
		finite := err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
		// The text of a FLOAT is shorter than its value as a DOUBLE.
		return Constant{Type: "DOUBLE", Text: strconv.FormatFloat(f, 'g', -1, 64)}, literal && finite && v.Type != "FLOAT"
	case signal.Bool:
		return v, v.Type == "BOOLEAN"
	case signal.String:
		return v, v.Type == "VARCHAR"
	case signal.Timestamp:
		return v, strings.HasPrefix(v.Type, "TIMESTAMP")
	default:
		return v, false
	}
}

// looser lets the bound itself in: it may have lost digits below a microsecond.
func looser(op Op) Op {
	switch op {
	case Less:
		return LessOrEqual
	case Greater:
		return GreaterOrEqual
	default:
		return op
	}
}
