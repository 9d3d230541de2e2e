package sqlplan

import (
	"errors"
	"regexp"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// source is the user's text and the way from the plan's text back to it.
type source struct {
	text    string
	places  []place // by offset in the plan's text
	names   map[string]string
	columns []string // of all tables, for suggestions
}

// place says that a byte of the plan's text comes from a byte of the user's.
type place struct{ plan, user int }

// newSource compares the tree that was written with the one that its text parses to: they have the same shape, and each node of the
// former still knows its place in the user's text.
func newSource(q *Query, written, parsed node, tables []*tableDraft) *source {
	s := &source{text: q.text, names: map[string]string{}}
	pair(map[string]any(written), map[string]any(parsed), &s.places)
	for i, r := range q.refs {
		s.names[generated(i)] = joinName(r.name.Parts)
	}
	for _, t := range tables {
		for _, c := range t.columns {
			if c.inStar {
				s.columns = append(s.columns, c.name)
			}
		}
	}
	return s
}

// pair collects the places of nodes that are alike in both trees.
func pair(written, parsed any, places *[]place) {
	switch w := written.(type) {
	case map[string]any:
		p, ok := parsed.(map[string]any)
		if !ok || node(w).kind() != node(p).kind() || node(w).class() != node(p).class() {
			return
		}
		if from, to := node(p).offset(), node(w).offset(); from >= 0 && to >= 0 {
			*places = append(*places, place{plan: from, user: to})
		}
		for key, e := range w {
			pair(e, p[key], places)
		}
	case []any:
		p, ok := parsed.([]any)
		if !ok || len(p) != len(w) {
			return
		}
		for i := range w {
			pair(w[i], p[i], places)
		}
	}
}

// userOffset returns the place in the user's text of a byte of the plan's, -1 if it is not known: that of the node that begins there.
func (s *source) userOffset(plan int) int {
	for _, p := range s.places {
		if p.plan == plan {
			return p.user
		}
	}
	return -1
}

// generatedName finds generated names in a message of the engine, quoted or not, with a schema or not.
var generatedName = regexp.MustCompile(`"?\b(` + generatedPrefix + `\d+|` + ctePrefix + `\d+)\b"?`)

// missingColumn finds the column in the engine's message about table.column.
var missingColumn = regexp.MustCompile(`does not have a column named "([^"]+)"`)

// UserError turns an error of the engine about the plan's text into one about the user's: its place, and the names that the user wrote.
// Errors without a *Mistake in their chain are returned as they are.
func (p *Plan) UserError(err error) error {
	var m *Mistake
	if !errors.As(err, &m) || p.source == nil {
		return err
	}
	text := plainText(p.source.rename(m.Text))
	offset := p.source.userOffset(m.Offset)
	missing := m.Name
	if found := missingColumn.FindStringSubmatch(m.Text); found != nil {
		missing = found[1]
	}
	if missing != "" && (m.Subtype == "COLUMN_NOT_FOUND" || missing != m.Name) {
		text = "unknown column " + joinName([]string{missing}) + nearestList(p.source.nearestColumns(missing))
	}
	return userFault(err, p.source.text, offset, text)
}

// plainText returns the first line of a message of the engine, without advice that cannot be followed here.
func plainText(message string) string {
	if strings.HasPrefix(message, "Max expression depth limit") {
		return "the statement is nested too deeply"
	}
	line, _, _ := strings.Cut(message, "\n")
	return line
}

func userFault(cause error, text string, offset int, message string) error {
	placed := at(fault.KindOf(cause), text, offset, "%s", message)
	return fault.Wrap(fault.KindOf(cause), cause, "%s", fault.Message(placed))
}

func (s *source) rename(text string) string {
	return generatedName.ReplaceAllStringFunc(text, func(match string) string {
		name := strings.Trim(match, `"`)
		if own, ok := s.names[name]; ok {
			return own
		}
		return "the subquery"
	})
}

// nearestColumns returns the columns of the statement's tables whose names are close to name.
func (s *source) nearestColumns(name string) []string {
	const most = 3
	limit := max(len(name)/3, 2)
	var out []string
	for d := 0; d <= limit && len(out) < most; d++ {
		for _, c := range s.columns {
			if len(out) < most && distance(strings.ToLower(name), strings.ToLower(c), limit) == d && !containsFold(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}
