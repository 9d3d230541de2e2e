package sqlplan

import (
	"context"
	"errors"
	"slices"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

// Planner parses statements. It is safe for concurrent use if its engine and functions are.
type Planner struct {
	engine    Engine
	functions Functions
	shapes    shapes
	types     map[string]map[string]bool
}

// New returns a planner.
func New(engine Engine, functions Functions) *Planner {
	return &Planner{engine: engine, functions: functions, shapes: newShapes(), types: exprTypes()}
}

// MaxStatementBytes is the longest statement.
const MaxStatementBytes = 256 << 10

// Parse reads one statement, which may end with one semicolon.
func (p *Planner) Parse(ctx context.Context, text string) (Statement, error) {
	if len(text) > MaxStatementBytes {
		return nil, fault.New(fault.Invalid, "statement longer than %d bytes", MaxStatementBytes)
	}
	s, err := parseCommand(text)
	if s != nil || err != nil {
		return s, err
	}
	return p.parseQuery(ctx, text)
}

// Query is a statement that reads rows. Resolve comes before Bind; one goroutine uses it at a time.
type Query struct {
	planner *Planner
	text    string
	root    node
	refs    []*reference
	items   []node           // of select lists, by originalKey
	ctes    []string         // the user's names of common table expressions by number
	streams []catalog.Stream // of refs, once resolved
}

func (p *Planner) parseQuery(ctx context.Context, text string) (*Query, error) {
	tree, err := p.engine.SerializeSQL(ctx, text)
	if err != nil {
		return nil, WithCode(syntaxError(text, err), CodeInvalidSyntax)
	}
	root, err := decodeTree(tree)
	if err != nil {
		return nil, err
	}
	c := &checker{text: text, shapes: p.shapes, types: p.types, functions: p.functions}
	if err := c.query(root, nil); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.refs, func(a, b *reference) int { return a.name.Offset - b.name.Offset })
	for i, r := range c.refs {
		if r.node.str("alias") == "" {
			r.node["alias"] = r.name.Parts[len(r.name.Parts)-1]
			r.bare = true
		}
		r.node["catalog_name"], r.node["schema_name"], r.node["table_name"] = "", "", generated(i)
	}
	return &Query{planner: p, text: text, root: root, refs: c.refs, items: c.items, ctes: c.ctes}, nil
}

// syntaxError gives an error of SerializeSQL its place, if it has none in its message yet.
func syntaxError(text string, err error) error {
	var m *Mistake
	if !errors.As(err, &m) {
		return err
	}
	return at(fault.Invalid, text, m.Offset, "%s", plainText(m.Text))
}

// Streams returns the names that the statement reads, one for each reference, in the order of the text.
func (q *Query) Streams() []Name {
	out := make([]Name, len(q.refs))
	for i, r := range q.refs {
		out[i] = r.name
	}
	return out
}

// Resolve finds the stream of every reference and returns them in the order of Streams. Errors name the place in the statement.
func (q *Query) Resolve(names Names) ([]catalog.Stream, error) {
	q.streams = make([]catalog.Stream, len(q.refs))
	for i, r := range q.refs {
		s, err := names.resolveAt(q.text, r.name)
		if err != nil {
			return nil, err
		}
		q.streams[i] = s
	}
	return slices.Clone(q.streams), nil
}
