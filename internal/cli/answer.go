package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"github.com/millstream/millstream/internal/answer"
)

// errNoEnd is an answer without the statistics that end every answer.
var errNoEnd = errors.New("the server sent no end")

// metaTrailer carries the end of answers that have no place for it.
const metaTrailer = "X-Millstream-Meta"

// reader returns what writes an answer in the chosen format, and the media type to ask for.
func (o *queryOptions) reader(s Streams) (read func(*http.Response) (answer.Meta, error), media string, err error) {
	switch o.output {
	case "table":
		t := newTable(s.Out, o.expanded)
		return func(res *http.Response) (answer.Meta, error) { return readTable(res.Body, t) }, mediaJSON, nil
	case "json":
		return func(res *http.Response) (answer.Meta, error) { return copyJSON(s.Out, res.Body) }, mediaJSON, nil
	case "ndjson":
		return func(res *http.Response) (answer.Meta, error) {
			return readLines(res.Body, func(line []byte) error { return write(s.Out, line) })
		}, mediaNDJSON, nil
	case "csv":
		return func(res *http.Response) (answer.Meta, error) { return copyCSV(s.Out, res) }, mediaCSV, nil
	default:
		return nil, "", usagef("output format %q is not table, json, ndjson or csv", o.output)
	}
}

// copyJSON passes an answer on and understands its end.
func copyJSON(w io.Writer, body io.Reader) (answer.Meta, error) {
	end := &suffix{limit: 256 << 10}
	if err := pass(io.MultiWriter(w, end), body); err != nil {
		return answer.Meta{}, err
	}
	// No text of a row holds a raw line break, so this one stands before the end only.
	i := bytes.LastIndex(end.held, []byte("\n],"))
	if i < 0 {
		return answer.Meta{}, &incompleteError{err: errNoEnd}
	}
	return parseMeta(append([]byte{'{'}, end.held[i+len("\n],"):]...))
}

// copyCSV passes an answer on; its end is in the trailer. Where something between strips trailers, an answer that ends in order is
// taken as whole.
func copyCSV(w io.Writer, res *http.Response) (answer.Meta, error) {
	_, announced := res.Trailer[metaTrailer]
	if err := pass(w, res.Body); err != nil {
		return answer.Meta{}, err
	}
	if !announced {
		return answer.Meta{}, nil
	}
	return parseMeta([]byte(res.Trailer.Get(metaTrailer)))
}

// pass copies what comes as it comes. The error tells reading from writing.
func pass(w io.Writer, body io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if err := write(w, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &incompleteError{err: err}
		}
	}
}

func write(w io.Writer, p []byte) error {
	if _, err := w.Write(p); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	return nil
}

// readLines calls row with each line of an NDJSON answer, its end of line included, except the last, which it understands. The line
// is valid during the call.
func readLines(body io.Reader, row func(line []byte) error) (answer.Meta, error) {
	r := bufio.NewReaderSize(body, 64<<10)
	var rows int64
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return answer.Meta{}, &incompleteError{rows, errNoEnd}
		case err != nil:
			return answer.Meta{}, &incompleteError{rows, err}
		}
		if isMeta(line) {
			if _, err := r.Peek(1); errors.Is(err, io.EOF) {
				return parseMeta(line[len(metaPrefix) : len(line)-2]) // without the outer object's "}\n"
			}
		}
		if err := row(line); err != nil {
			return answer.Meta{}, err
		}
		rows++
		line = line[:0]
	}
}

const metaPrefix = `{"_meta":`

func isMeta(line []byte) bool {
	return bytes.HasPrefix(line, []byte(metaPrefix)) && bytes.HasSuffix(line, []byte("}\n"))
}

// readTable decodes a JSON answer row by row into the table.
func readTable(body io.Reader, t *table) (answer.Meta, error) {
	d := json.NewDecoder(body)
	d.UseNumber()
	rows, err := decodeTable(d, t)
	if err != nil {
		if _, closed := errors.AsType[*writeError](err); closed {
			return answer.Meta{}, err
		}
		if flushErr := t.flush(); flushErr != nil {
			return answer.Meta{}, flushErr
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errNoEnd
		}
		return answer.Meta{}, &incompleteError{rows, err}
	}
	if err := t.flush(); err != nil {
		return answer.Meta{}, err
	}
	// What is left are members of the outer object, the first of them begun: read them as an object of their own.
	rest, err := io.ReadAll(io.MultiReader(d.Buffered(), body))
	if err != nil {
		return answer.Meta{}, &incompleteError{rows, err}
	}
	return parseMeta(append([]byte{'{'}, bytes.TrimLeft(rest, ", \n")...))
}

// decodeTable reads up to the end of the rows.
func decodeTable(d *json.Decoder, t *table) (rows int64, err error) {
	for _, want := range []json.Token{json.Delim('{'), "columns"} {
		if err := expect(d, want); err != nil {
			return 0, err
		}
	}
	if err := d.Decode(&t.columns); err != nil {
		return 0, err
	}
	for _, want := range []json.Token{"rows", json.Delim('[')} {
		if err := expect(d, want); err != nil {
			return 0, err
		}
	}
	for ; d.More(); rows++ {
		var row []json.RawMessage
		if err := d.Decode(&row); err != nil {
			return rows, err
		}
		if err := t.add(row); err != nil {
			return rows, err
		}
	}
	return rows, expect(d, json.Delim(']'))
}

func expect(d *json.Decoder, want json.Token) error {
	got, err := d.Token()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("expected %v and found %v", want, got)
	}
	return nil
}

// parseMeta reads the end of an answer, and makes the error that it tells an error.
func parseMeta(text []byte) (answer.Meta, error) {
	var m answer.Meta
	if err := json.Unmarshal(text, &m); err != nil {
		return m, &incompleteError{err: errNoEnd}
	}
	if m.Error != nil {
		return m, &incompleteError{m.Stats.Rows, &apiError{Message: m.Error.Message, RequestID: m.Error.RequestID}}
	}
	return m, nil
}

// isCut reports whether a connection ended early.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, errNoEnd)
}

// suffix keeps the last bytes written to it.
type suffix struct {
	limit int
	held  []byte
}

func (s *suffix) Write(p []byte) (int, error) {
	s.held = append(s.held, p...)
	if left := len(s.held) - s.limit; left > s.limit {
		s.held = append(s.held[:0], s.held[left:]...)
	}
	return len(p), nil
}
