package answer

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/signal"
)

// columnsOf names the columns for the JSON formats.
func columnsOf(s *arrow.Schema) (names [][]byte, types []string) {
	for _, f := range s.Fields() {
		names = append(names, signal.AppendJSONString(nil, []byte(f.Name)))
		types = append(types, TypeName(f))
	}
	return names, types
}

// jsonEncoder writes {"columns":[…],"rows":[…],"stats":…,"warnings":…}.
type jsonEncoder struct {
	w     io.Writer
	names [][]byte
	types []string
	buf   []byte
	any   bool
}

func newJSON(w io.Writer, s *arrow.Schema) *jsonEncoder {
	e := &jsonEncoder{w: w}
	e.names, e.types = columnsOf(s)
	return e
}

func (e *jsonEncoder) begin() error {
	b := e.buf[:0]
	b = append(b, `{"columns":[`...)
	for i, name := range e.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = append(b, name...)
		b = append(b, `,"type":`...)
		b = signal.AppendJSONString(b, []byte(e.types[i]))
		b = append(b, '}')
	}
	b = append(b, `],"rows":[`...)
	return e.flush(b)
}

func (e *jsonEncoder) rows(batch arrow.RecordBatch) error {
	b := e.buf[:0]
	for row := range int(batch.NumRows()) {
		if e.any {
			b = append(b, ',')
		}
		e.any = true
		b = append(b, '\n', '[')
		for i, t := range e.types {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, batch.Column(i), row, t)
		}
		b = append(b, ']')
	}
	return e.flush(b)
}

func (e *jsonEncoder) end(meta Meta) error {
	rest, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	b := e.buf[:0]
	b = append(b, "\n],"...)
	b = append(b, rest[1:]...)
	return e.flush(append(b, '\n'))
}

func (e *jsonEncoder) flush(b []byte) error {
	e.buf = b
	_, err := e.w.Write(b)
	return err
}

// ndjsonEncoder writes an object a row, then {"_meta":…}.
type ndjsonEncoder struct{ jsonEncoder }

func newNDJSON(w io.Writer, s *arrow.Schema) *ndjsonEncoder { return &ndjsonEncoder{*newJSON(w, s)} }

func (e *ndjsonEncoder) begin() error { return nil }

func (e *ndjsonEncoder) rows(batch arrow.RecordBatch) error {
	b := e.buf[:0]
	for row := range int(batch.NumRows()) {
		b = append(b, '{')
		for i, t := range e.types {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, e.names[i]...)
			b = append(b, ':')
			b = appendJSON(b, batch.Column(i), row, t)
		}
		b = append(b, '}', '\n')
	}
	return e.flush(b)
}

func (e *ndjsonEncoder) end(meta Meta) error {
	rest, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	b := e.buf[:0]
	b = append(b, `{"_meta":`...)
	b = append(b, rest...)
	return e.flush(append(b, '}', '\n'))
}

// csvEncoder writes RFC 4180 with a header line. A null is an empty cell, an empty text is "".
type csvEncoder struct {
	w      io.Writer
	schema *arrow.Schema
	buf    []byte
	cell   []byte
}

func newCSV(w io.Writer, s *arrow.Schema) *csvEncoder { return &csvEncoder{w: w, schema: s} }

func (e *csvEncoder) begin() error {
	b := e.buf[:0]
	for i, f := range e.schema.Fields() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCSV(b, []byte(f.Name))
	}
	return e.flush(append(b, '\r', '\n'))
}

func (e *csvEncoder) rows(batch arrow.RecordBatch) error {
	b := e.buf[:0]
	for row := range int(batch.NumRows()) {
		for i, col := range batch.Columns() {
			if i > 0 {
				b = append(b, ',')
			}
			if col.IsNull(row) {
				continue
			}
			e.cell = appendText(e.cell[:0], col, row)
			b = appendCSV(b, e.cell)
		}
		b = append(b, '\r', '\n')
	}
	return e.flush(b)
}

func (e *csvEncoder) end(Meta) error { return nil }

func (e *csvEncoder) flush(b []byte) error {
	e.buf = b
	_, err := e.w.Write(b)
	return err
}

func appendCSV(dst, cell []byte) []byte {
	if len(cell) > 0 && !strings.ContainsAny(string(cell), ",\"\r\n") && cell[0] != ' ' && cell[len(cell)-1] != ' ' {
		return append(dst, cell...)
	}
	dst = append(dst, '"')
	for _, c := range cell {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
