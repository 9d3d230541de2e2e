package sqlplan

import "context"

// Engine is the part of the SQL engine that planning needs. None of its methods sees data of any org.
type Engine interface {
	// SerializeSQL returns the syntax tree of one or several SELECT statements as JSON, {"error":false,"statements":[{"node":{…}}]},
	// every query_location a byte offset into sql. A text that is no SELECT is fault.Invalid, a *Mistake in the chain says where.
	SerializeSQL(ctx context.Context, sql string) ([]byte, error)
	// DeserializeSQL returns the text of a tree with one statement.
	DeserializeSQL(ctx context.Context, tree []byte) (string, error)
	// Eval runs a SELECT without tables, whose functions have been checked, and returns the cells of its only row.
	Eval(ctx context.Context, sql string) ([]Constant, error)
}

// Constant is the value of an expression without columns.
type Constant struct {
	Type string // the engine's name of the type, such as "BIGINT" or "TIMESTAMP WITH TIME ZONE"
	Null bool
	Text string // the value as text; empty for NULL
	// Micros is the value in microseconds since 1970 UTC if Type is a timestamp or a date, else 0. Infinite ones saturate.
	Micros int64
}

// FunctionKind is the place in which a function is called.
type FunctionKind uint8

// The kinds. A window function and an aggregate with OVER are Window.
const (
	Scalar FunctionKind = iota + 1
	Aggregate
	Window
	TableFunction
)

// Functions is the list of functions that a statement may call. Names are in lower case.
type Functions interface {
	// Allowed reports whether a function may be called in this place. Scalars and aggregates look alike in a tree, so a call that may be
	// either is asked for both.
	Allowed(kind FunctionKind, name string) bool
	// Rewrite returns the name under which the engine knows the bounded form of an allowed function.
	Rewrite(kind FunctionKind, name string) (string, bool)
	// Suggest returns allowed names that resemble name, best first.
	Suggest(kind FunctionKind, name string) []string
}

// Mistake is a fault of a statement as the engine describes it: the engine's adapter puts it in the chain of its errors.
type Mistake struct {
	Type       string   // the engine's name of the exception, such as "Binder"
	Subtype    string   // such as "COLUMN_NOT_FOUND", or empty
	Text       string   // the message without position
	Name       string   // what was not found, or empty
	Candidates []string // nearest names, best first
	Offset     int      // byte in the text that the engine was given, or -1
}

// Error implements error.
func (m *Mistake) Error() string { return m.Text }
