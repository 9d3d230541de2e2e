package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// tableWindow is how many rows decide about the widths of a table's columns. Later rows may widen them.
const tableWindow = 500

// table prints rows in aligned columns, or a field a line when rows are wider than the terminal. It holds tableWindow rows at most.
type table struct {
	w        io.Writer
	columns  []column
	rows     [][]string
	widths   []int
	limit    int // columns of the terminal; 0 = no limit
	expanded bool
	begun    bool
	shown    int64
}

// column is a column as the query API describes it.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// writeError is an error of the table's writer.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

func newTable(w io.Writer, expanded bool) *table {
	return &table{w: w, expanded: expanded, limit: terminalWidth(w)}
}

// add takes a row of JSON values.
func (t *table) add(row []json.RawMessage) error {
	cells := make([]string, len(t.columns))
	for i := range cells {
		if i < len(row) {
			cells[i] = cellText(row[i])
		}
	}
	t.rows = append(t.rows, cells)
	if len(t.rows) < tableWindow {
		return nil
	}
	return t.flush()
}

// flush prints the rows that are held, and before the first of them the header.
func (t *table) flush() error {
	if len(t.columns) == 0 || (t.begun && len(t.rows) == 0) {
		return nil
	}
	t.measure()
	var b strings.Builder
	if !t.begun && t.limit > 0 && len(t.rows) > 0 && t.width() > t.limit {
		t.expanded = true
	}
	if t.expanded {
		t.writeExpanded(&b)
	} else {
		t.writeRows(&b)
	}
	t.begun = true
	t.rows = t.rows[:0]
	if _, err := io.WriteString(t.w, b.String()); err != nil {
		return &writeError{fmt.Errorf("write the rows: %w", err)}
	}
	return nil
}

func (t *table) measure() {
	if t.widths == nil {
		t.widths = make([]int, len(t.columns))
		for i, c := range t.columns {
			t.widths[i] = uniseg.StringWidth(printable(c.Name))
		}
	}
	for _, row := range t.rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], uniseg.StringWidth(cell))
		}
	}
}

// width is that of a line.
func (t *table) width() int {
	sum := 0
	for _, w := range t.widths {
		sum += w + len(" | ")
	}
	return sum - 1
}

func (t *table) writeRows(b *strings.Builder) {
	if !t.begun {
		names := make([]string, len(t.columns))
		rules := make([]string, len(t.columns))
		for i, c := range t.columns {
			names[i] = printable(c.Name)
			rules[i] = strings.Repeat("-", t.widths[i]+2)
		}
		t.writeRow(b, names)
		b.WriteString(strings.Join(rules, "+") + "\n")
	}
	for _, row := range t.rows {
		t.writeRow(b, row)
	}
}

func (t *table) writeRow(b *strings.Builder, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			b.WriteString(" |")
		}
		b.WriteByte(' ')
		space := strings.Repeat(" ", t.widths[i]-uniseg.StringWidth(cell))
		switch {
		case isNumber(t.columns[i].Type):
			b.WriteString(space + cell)
		case i == len(cells)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + space)
		}
	}
	b.WriteByte('\n')
}

func (t *table) writeExpanded(b *strings.Builder) {
	names := 0
	for _, c := range t.columns {
		names = max(names, uniseg.StringWidth(printable(c.Name)))
	}
	for _, row := range t.rows {
		t.shown++
		title := fmt.Sprintf("-[ row %d ]", t.shown)
		b.WriteString(title + strings.Repeat("-", max(names+3-len(title), 4)) + "\n")
		for i, cell := range row {
			name := printable(t.columns[i].Name)
			b.WriteString(name + strings.Repeat(" ", names-uniseg.StringWidth(name)) + " | " + cell + "\n")
		}
	}
}

// isNumber reports whether columns of the engine's type stand right-aligned.
func isNumber(engineType string) bool {
	name, _, _ := strings.Cut(engineType, "(")
	switch strings.TrimPrefix(name, "U") {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL":
		return !strings.HasSuffix(engineType, "[]")
	default:
		return false
	}
}

// cellText returns a JSON value as a line of text: strings without quotes, null as NULL.
func cellText(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0 || string(value) == "null":
		return "NULL"
	case value[0] != '"':
		return printable(string(value))
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return printable(string(value))
	}
	return printable(text)
}

// printable returns text in one line without anything that a terminal would obey: control characters become escapes.
func printable(text string) string {
	plain := true
	for _, r := range text {
		if !shows(r) {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if shows(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// shows reports whether a terminal shows the character and does nothing else. The joiner makes emoji and is harmless.
func shows(r rune) bool {
	const zeroWidthJoiner = '\u200d'
	return unicode.IsPrint(r) || r == zeroWidthJoiner || unicode.Is(unicode.Zs, r)
}
