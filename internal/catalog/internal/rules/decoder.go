package rules

import (
	"encoding/base64"
	"fmt"

	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// ColumnDecoder reads what EncodeColumns wrote. A snapshot decodes thousands of lists of the same columns, so a decoder keeps its
// memory, and the text of names, from one to the next. It is for one goroutine; the zero value is ready.
type ColumnDecoder struct {
	parser fastjson.Parser
	names  map[string]string
}

// Decode returns the columns of one segment; they do not refer to text or the decoder. Damaged text is of kind Corrupt.
func (d *ColumnDecoder) Decode(text string) ([]catalog.SegmentColumn, error) {
	list, err := d.decode(text)
	if err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "decode a segment's columns")
	}
	return list, nil
}

func (d *ColumnDecoder) decode(text string) ([]catalog.SegmentColumn, error) {
	parsed, err := d.parser.Parse(text)
	if err != nil {
		return nil, err
	}
	items, err := parsed.Array()
	if err != nil || len(items) == 0 {
		return nil, err
	}
	columns := make([]catalog.SegmentColumn, len(items))
	for i, item := range items {
		fields, err := item.Object()
		if err != nil {
			return nil, err
		}
		if err := d.column(&columns[i], fields); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
	}
	return columns, nil
}

func (d *ColumnDecoder) column(c *catalog.SegmentColumn, fields *fastjson.Object) (err error) {
	coded := false // the bounds are base64
	fields.Visit(func(key []byte, v *fastjson.Value) {
		if err == nil {
			err = d.field(c, string(key), v, &coded)
		}
	})
	if err != nil || !coded {
		return err
	}
	if c.Min, err = decode64(c.Min); err != nil {
		return err
	}
	c.Max, err = decode64(c.Max)
	return err
}

func (d *ColumnDecoder) field(c *catalog.SegmentColumn, key string, v *fastjson.Value, coded *bool) (err error) {
	var n int
	switch key { // the tags of catalog.SegmentColumn, and b
	case "i":
		n, err = v.Int()
		c.ID = catalog.ColumnID(n)
	case "p":
		c.Physical, err = d.name(v)
	case "t":
		n, err = v.Int()
		c.Type = signal.Type(n)
	case "n":
		c.Nulls, err = v.Int64()
	case "a":
		c.Min, err = bound(v)
	case "z":
		c.Max, err = bound(v)
	case "e":
		c.Exact, err = v.Bool()
	case "b":
		*coded, err = v.Bool()
	default: // of a later version of the program
	}
	return err
}

// name returns a column's name, one copy for all segments.
func (d *ColumnDecoder) name(v *fastjson.Value) (string, error) {
	raw, err := v.StringBytes()
	if err != nil {
		return "", err
	}
	if name, ok := d.names[string(raw)]; ok {
		return name, nil
	}
	if d.names == nil {
		d.names = make(map[string]string)
	}
	name := string(raw)
	d.names[name] = name
	return name, nil
}

func bound(v *fastjson.Value) (string, error) {
	raw, err := v.StringBytes()
	return string(raw), err
}

func encode64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func decode64(s string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(s)
	return string(raw), err
}
