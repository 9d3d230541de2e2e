package querier

import (
	"context"
	"errors"
	"fmt"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/sqlplan"
)

// planEngine is the planner's view of the SQL engine.
type planEngine struct{ parser *duck.Parser }

// SerializeSQL implements sqlplan.Engine.
func (e planEngine) SerializeSQL(ctx context.Context, sql string) ([]byte, error) {
	tree, err := e.parser.SerializeSQL(ctx, sql)
	return tree, withMistake(err)
}

// DeserializeSQL implements sqlplan.Engine.
func (e planEngine) DeserializeSQL(ctx context.Context, tree []byte) (string, error) {
	text, err := e.parser.DeserializeSQL(ctx, tree)
	return text, withMistake(err)
}

// Eval implements sqlplan.Engine.
func (e planEngine) Eval(ctx context.Context, sql string) ([]sqlplan.Constant, error) {
	cells, err := e.parser.Eval(ctx, sql)
	if err != nil {
		return nil, withMistake(err)
	}
	out := make([]sqlplan.Constant, len(cells))
	for i, c := range cells {
		out[i] = sqlplan.Constant(c)
	}
	return out, nil
}

// withMistake puts the planner's form of a statement's mistake into the chain of the engine's error.
func withMistake(err error) error {
	var s *duck.StatementError
	if err == nil || !errors.As(err, &s) {
		return err
	}
	m := &sqlplan.Mistake{Type: s.Type, Subtype: s.Subtype, Text: s.Text, Name: s.Name, Candidates: s.Candidates, Offset: s.Offset}
	return fmt.Errorf("%w%w", err, silent{m})
}

// silent keeps a mistake in an error's chain and out of its text, which has it already.
type silent struct{ mistake *sqlplan.Mistake }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.mistake }

// planFunctions is the planner's view of the list of allowed functions.
type planFunctions struct{}

// Allowed implements sqlplan.Functions.
func (planFunctions) Allowed(kind sqlplan.FunctionKind, name string) bool {
	return duck.Allowed(duckKind(kind), name)
}

// Rewrite implements sqlplan.Functions.
func (planFunctions) Rewrite(kind sqlplan.FunctionKind, name string) (string, bool) {
	if kind != sqlplan.Scalar {
		return "", false
	}
	return duck.Rewrite(name)
}

// Suggest implements sqlplan.Functions.
func (planFunctions) Suggest(kind sqlplan.FunctionKind, name string) []string {
	return duck.Suggest(duckKind(kind), name)
}

func duckKind(kind sqlplan.FunctionKind) duck.Kind {
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
