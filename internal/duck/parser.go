package duck

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/fault"
)

// parserMemory bounds what the parser's engine may use, in bytes.
const parserMemory = 128 << 20

// Parser turns statements into syntax trees and back and evaluates constants, with an engine that can see no data of any org. Its methods
// are safe for concurrent use; they run one at a time.
type Parser struct {
	turn     chan struct{} // holds one token while the parser is free
	settings settings
	inst     *Instance // replaced when an error left it in doubt; owned by the holder of the token
	known    *answers
}

func newParser(tempDir string) (*Parser, error) {
	p := &Parser{
		turn: make(chan struct{}, 1), settings: settings{memoryBytes: parserMemory, threads: 1, tempDir: tempDir}, known: newAnswers(),
	}
	e, err := openEngine(p.settings)
	if err != nil {
		return nil, err
	}
	p.inst = &Instance{engine: e}
	p.turn <- struct{}{}
	return p, nil
}

// with runs f on the parser's engine, which it replaces afterwards if it must.
func (p *Parser) with(ctx context.Context, f func(i *Instance) error) error {
	select {
	case _, open := <-p.turn:
		if !open {
			return ErrClosed
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { p.turn <- struct{}{} }()
	if p.inst.engine.doubtful {
		p.inst.engine.close()
		e, err := openEngine(p.settings)
		if err != nil {
			return err
		}
		p.inst = &Instance{engine: e}
	}
	return f(p.inst)
}

// close waits for its turn and frees the engine; later calls return ErrClosed.
func (p *Parser) close() {
	<-p.turn
	close(p.turn)
	p.inst.engine.close()
}

// serializedError is json_serialize_sql's answer to a text that it does not take.
type serializedError struct {
	Error    bool   `json:"error"`
	Type     string `json:"error_type"`
	Message  string `json:"error_message"`
	Subtype  string `json:"error_subtype"`
	Position string `json:"position"`
}

// SerializeSQL returns DuckDB's syntax tree of sql as JSON: {"error":false,"statements":[{"node":{…}}]}, every query_location a byte
// offset into sql (2^64-1 for none). There may be no or several statements, and DESCRIBE, SUMMARIZE and SHOW pass as trees of their own:
// the caller counts and walks.
//
// A text that is no sequence of SELECT statements is fault.Invalid; a StatementError in the chain has Offset, Line and Column of the
// mistake where DuckDB names it. So is a text that is longer than MaxStatementBytes, not UTF-8, or contains NUL.
func (p *Parser) SerializeSQL(ctx context.Context, sql string) ([]byte, error) {
	if err := checkText(sql); err != nil {
		return nil, err
	}
	out, err := p.scalar(ctx, "SELECT json_serialize_sql(CAST(? AS VARCHAR))", sql)
	if err != nil {
		return nil, err
	}
	var se serializedError
	if err := json.Unmarshal([]byte(out), &se); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "read syntax tree")
	}
	if se.Error {
		return nil, se.fault(sql)
	}
	return []byte(out), nil
}

// fault maps the answer to an error that points into sql. DuckDB counts characters in syntax errors.
func (se serializedError) fault(sql string) error {
	e := &StatementError{Type: "Parser", Subtype: se.Subtype, Text: se.Message, Offset: -1}
	chars, err := strconv.Atoi(se.Position)
	if err != nil {
		if strings.HasPrefix(se.Message, "Only SELECT statements") {
			e.Text = "only SELECT statements are answered"
		}
		return fault.Wrap(fault.Invalid, e, "%s", e.Text)
	}
	e.Offset = len(sql)
	at := 0
	for i := range sql {
		if at == chars {
			e.Offset = i
			break
		}
		at++
	}
	e.Line, e.Column = Position(sql, e.Offset)
	return fault.Wrap(fault.Invalid, e, "line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Position returns line and column (in characters) of byte offset in text, both counted from 1.
func Position(text string, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// DeserializeSQL returns the statement text of a tree in the shape of SerializeSQL, with exactly one statement.
func (p *Parser) DeserializeSQL(ctx context.Context, tree []byte) (string, error) {
	return p.scalar(ctx, "SELECT json_deserialize_sql(CAST(? AS JSON))", string(tree))
}

// scalar runs a statement with one text parameter, whose only cell is a text that depends on the parameter alone, and returns it.
func (p *Parser) scalar(ctx context.Context, sql, arg string) (string, error) {
	asked := question{sql, arg}
	if out, ok := p.known.answer(asked); ok {
		return out, nil
	}
	var out string
	err := p.with(ctx, func(i *Instance) error {
		return i.call(ctx, func() (err error) {
			out, err = i.engine.scalar(sql, arg)
			return err
		})
	})
	if err == nil {
		p.known.remember(asked, out)
	}
	return out, err
}

func (e *engine) scalar(sql, arg string) (string, error) {
	var stmt bindings.PreparedStatement
	defer bindings.DestroyPrepare(&stmt)
	if bindings.Prepare(e.conn, sql, &stmt) == bindings.StateError {
		return "", e.fail(bindings.PrepareError(stmt))
	}
	if bindings.BindVarcharLength(stmt, 1, arg, bindings.IdxT(len(arg))) == bindings.StateError {
		return "", e.fail(bindings.PrepareError(stmt))
	}
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.ExecutePrepared(stmt, &res) == bindings.StateError {
		return "", e.fail(bindings.ResultError(&res))
	}
	chunk := bindings.FetchChunk(res)
	defer bindings.DestroyDataChunk(&chunk)
	if chunk.Ptr == nil || bindings.DataChunkGetSize(chunk) != 1 {
		return "", fault.New(fault.Internal, "engine answered no row")
	}
	text := values[stringT](bindings.DataChunkGetVector(chunk, 0), 1)
	return string(text[0].bytes()), nil
}

// Constant is the value of an expression without columns.
type Constant struct {
	Type string // DuckDB's name of the type, as under TypeKey
	Null bool
	// Text is the value as text; empty for NULL.
	Text string
	// Micros is the value in microseconds since 1970 UTC if Type is a timestamp or a date, else 0. Infinite ones saturate.
	Micros int64
}

// Eval runs a select without tables and returns the cells of its only row. The caller has checked sql as it checks a statement: its
// functions are allowed and rewritten and it reads nothing. The engine's clock (now()) is that of this call.
func (p *Parser) Eval(ctx context.Context, sql string) ([]Constant, error) {
	var out []Constant
	err := p.with(ctx, func(i *Instance) error {
		rows, err := i.Query(ctx, sql)
		if err != nil {
			return err
		}
		defer rows.free()
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return fault.New(fault.Invalid, "a constant has no value")
		}
		if err != nil {
			return err
		}
		defer batch.Release()
		for c := range int(batch.NumCols()) {
			name, _ := batch.Schema().Field(c).Metadata.GetValue(TypeKey)
			out = append(out, constantOf(name, batch.Column(c)))
		}
		return nil
	})
	return out, err
}

// EvalTimestamps evaluates expressions that the caller has checked, each cast to TIMESTAMP WITH TIME ZONE, text read as UTC unless it
// names a zone.
func (p *Parser) EvalTimestamps(ctx context.Context, exprs []string) ([]Constant, error) {
	if len(exprs) == 0 {
		return nil, nil
	}
	cells := make([]string, len(exprs))
	for i, e := range exprs {
		cells[i] = "CAST((" + e + ") AS TIMESTAMP WITH TIME ZONE)"
	}
	return p.Eval(ctx, "SELECT "+strings.Join(cells, ", "))
}

const microsPerDay = 24 * secondsPerHour * microsPerSecond

func constantOf(typ string, col arrow.Array) Constant {
	k := Constant{Type: typ, Null: col.IsNull(0)}
	if k.Null {
		return k
	}
	k.Text = col.ValueStr(0)
	switch v := col.(type) {
	case *array.Timestamp:
		k.Micros = microsOf(int64(v.Value(0)), v.DataType().(*arrow.TimestampType).Unit)
	case *array.Date32:
		k.Micros = saturatedMul(int64(v.Value(0)), microsPerDay)
	}
	return k
}

func microsOf(v int64, unit arrow.TimeUnit) int64 {
	switch unit {
	case arrow.Second:
		return saturatedMul(v, microsPerSecond)
	case arrow.Millisecond:
		return saturatedMul(v, 1000)
	case arrow.Nanosecond:
		return floorDiv(v, 1000)
	default:
		return v
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func saturatedMul(a, b int64) int64 {
	const top = 1<<63 - 1
	switch {
	case a > top/b:
		return top
	case a < -top/b:
		return -top
	}
	return a * b
}

// checkText refuses text that the engine would read differently than we do or that is too long to be meant.
func checkText(sql string) error {
	switch {
	case len(sql) > MaxStatementBytes:
		return fault.New(fault.Invalid, "statement longer than %d bytes", MaxStatementBytes)
	case strings.IndexByte(sql, 0) >= 0:
		return fault.New(fault.Invalid, "statement contains a NUL character")
	case !utf8.ValidString(sql):
		return fault.New(fault.Invalid, "statement is not valid UTF-8")
	}
	return nil
}
