package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// rowKey stands for all that a row holds.
type rowKey [2]uint64

// tailRow is a row of a followed stream.
type tailRow struct {
	line   []byte // as the server sent it, with its end of line
	fields []tailField
	at     time.Time
	key    rowKey
}

// tailField is a field with a value.
type tailField struct{ name, value string }

// keySeeds are constant: keys are compared within one process.
var keySeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// parseTailRow reads a line of NDJSON. It keeps a copy of it.
func parseTailRow(line []byte) (*tailRow, error) {
	r := &tailRow{line: bytes.Clone(line)}
	d := json.NewDecoder(bytes.NewReader(r.line))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("understand a row: %w", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("understand a row: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("understand a row: %w", err)
		}
		if string(value) == "null" {
			continue
		}
		r.fields = append(r.fields, tailField{fmt.Sprint(name), plainText(value)})
	}
	for _, f := range r.fields {
		if f.name == "_timestamp" {
			r.at, _ = time.Parse(time.RFC3339Nano, f.value) // infinity is the zero time
		}
	}
	r.key = r.hash()
	return r, nil
}

// plainText returns strings without quotes: a column that is widened to text while rows are followed changes no row's key.
func plainText(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// hash does not depend on the order of fields nor on fields without a value, since columns are added while rows are followed.
func (r *tailRow) hash() rowKey {
	var sum rowKey
	for i, seed := range keySeeds {
		for _, f := range r.fields {
			var h maphash.Hash
			h.SetSeed(seed)
			_, _ = h.WriteString(f.name) // never fails
			_ = h.WriteByte(0)
			_, _ = h.WriteString(f.value)
			sum[i] += h.Sum64()
		}
	}
	return sum
}

// text returns the row as people read it: time, level, message, then the other fields.
func (r *tailRow) text() string {
	var at, level, message string
	var rest strings.Builder
	for _, f := range r.fields {
		switch f.name {
		case "_timestamp":
			at = f.value
		case "level":
			level = f.value
		case "message":
			message = f.value
		default:
			rest.WriteString("  " + printable(f.name) + "=" + fieldText(f.value))
		}
	}
	if !r.at.IsZero() {
		at = r.at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	line := at
	if level != "" {
		line += fmt.Sprintf("  %-5s", strings.ToUpper(printable(level)))
	}
	if message != "" {
		line += "  " + printable(message)
	}
	return line + rest.String() + "\n"
}

func fieldText(value string) string {
	value = printable(value)
	if value == "" || strings.ContainsAny(value, " \"=") {
		return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`
	}
	return value
}
