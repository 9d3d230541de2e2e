package sqlplanduck

import (
	"context"
	"errors"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Engine is a sqlplan.Engine and sqlplan.Functions over a parser of duck.
type Engine struct{ parser *duck.Parser }

var (
	_ sqlplan.Engine    = Engine{}
	_ sqlplan.Functions = Engine{}
)

// New returns an engine; the parser stays the caller's.
func New(parser *duck.Parser) Engine { return Engine{parser: parser} }

// NewPlanner returns a planner over the parser with duck's list of functions.
func NewPlanner(parser *duck.Parser) *sqlplan.Planner {
	e := New(parser)
	return sqlplan.New(e, e)
}

// SerializeSQL implements sqlplan.Engine.
func (e Engine) SerializeSQL(ctx context.Context, sql string) ([]byte, error) {
	tree, err := e.parser.SerializeSQL(ctx, sql)
	return tree, Mistake(err)
}

// DeserializeSQL implements sqlplan.Engine.
func (e Engine) DeserializeSQL(ctx context.Context, tree []byte) (string, error) {
	text, err := e.parser.DeserializeSQL(ctx, tree)
	return text, Mistake(err)
}

// Eval implements sqlplan.Engine.
func (e Engine) Eval(ctx context.Context, sql string) ([]sqlplan.Constant, error) {
	row, err := e.parser.Eval(ctx, sql)
	if err != nil {
		return nil, Mistake(err)
	}
	out := make([]sqlplan.Constant, len(row))
	for i, c := range row {
		out[i] = sqlplan.Constant(c)
	}
	return out, nil
}

// Allowed implements sqlplan.Functions.
func (Engine) Allowed(kind sqlplan.FunctionKind, name string) bool {
	return duck.Allowed(kindOf(kind), name)
}

// Rewrite implements sqlplan.Functions.
func (Engine) Rewrite(kind sqlplan.FunctionKind, name string) (string, bool) {
	if kind != sqlplan.Scalar {
		return "", false
	}
	return duck.Rewrite(name)
}

// Suggest implements sqlplan.Functions.
func (Engine) Suggest(kind sqlplan.FunctionKind, name string) []string {
	return duck.Suggest(kindOf(kind), name)
}

func kindOf(kind sqlplan.FunctionKind) duck.Kind {
	switch kind {
	case sqlplan.Aggregate:
		return duck.Aggregate
	case sqlplan.Window:
		return duck.Window
	case sqlplan.TableFunction:
		return duck.Table
	default:
		return duck.Scalar
	}
}

// mistaken is an error of duck with what planning wants to know of it.
type mistaken struct {
	error
	mistake *sqlplan.Mistake
}

func (m *mistaken) Unwrap() []error { return []error{m.error, m.mistake} }

// Mistake puts a *sqlplan.Mistake into the chain of an error that has a *duck.StatementError. Other errors, and nil, are returned as
// they are. Whoever runs a plan passes the engine's errors through it to Plan.UserError.
func Mistake(err error) error {
	var s *duck.StatementError
	if !errors.As(err, &s) {
		return err
	}
	return &mistaken{error: err, mistake: &sqlplan.Mistake{
		Type: s.Type, Subtype: s.Subtype, Text: s.Text, Name: s.Name, Candidates: s.Candidates, Offset: s.Offset,
	}}
}
