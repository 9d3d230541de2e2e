package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readFile sets keys from a TOML text. The name stands in front of line and column in faults.
func (c *Config) readFile(name string, text []byte) (faults Faults) {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		where, message := name, err.Error()
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := at.Position()
			where = fmt.Sprintf("%s:%d:%d", name, line, column)
			message = strings.TrimPrefix(message, "toml: ")
		}
		return Faults{{where, message}}
	}
	unknown := "\x00" // the last unknown section, whose keys need no fault of their own
	for _, p := range keyPlaces(text) {
		where := fmt.Sprintf("%s:%d:%d", name, p.line, p.column)
		k := c.key(p.path)
		switch {
		case strings.HasPrefix(p.path, unknown+"."):
		case k == nil && c.isSection(p.path):
			if p.value {
				faults.add(where, "%s is a section: write [%s]", p.path, p.path)
			}
		case k == nil:
			faults.add(where, "unknown key %s%s", p.path, c.suggest(p.path))
			if !p.value {
				unknown = p.path
			}
		case k.secret:
			faults.add(where, "%s is a secret: set %s, or %s_FILE to a file that holds it", p.path, k.env(), k.env())
		case !p.value:
			faults.add(where, "%s is a key, not a section", p.path)
			unknown = p.path
		default:
			if err := k.set(plain(lookup(tree, p.path))); err != nil {
				faults.add(where, "%s: %v", p.path, err)
			}
			k.origin = FromFile
		}
	}
	return faults
}

// place is where a key or a section's head stands in a file.
type place struct {
	path         string
	line, column int // from 1
	value        bool
}

// keyPlaces lists the keys of a valid TOML text in their order, and the heads of sections.
func keyPlaces(text []byte) (places []place) {
	var p unstable.Parser
	p.Reset(text)
	section := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			at := placeOf(&p, e, "")
			section = at.path
			places = append(places, at)
		case unstable.KeyValue:
			places = appendKey(&p, e, section, places)
		default: // comments
		}
	}
	return places
}

// appendKey adds a key, or the keys of its inline table.
func appendKey(p *unstable.Parser, e *unstable.Node, section string, places []place) []place {
	at := placeOf(p, e, section)
	if value := e.Value(); value.Kind == unstable.InlineTable {
		places = append(places, at)
		for it := value.Children(); it.Next(); {
			places = appendKey(p, it.Node(), at.path, places)
		}
		return places
	}
	at.value = true
	return append(places, at)
}

func placeOf(p *unstable.Parser, e *unstable.Node, section string) (at place) {
	parts := []string{}
	if section != "" {
		parts = append(parts, section)
	}
	for it := e.Key(); it.Next(); {
		node := it.Node()
		if at.line == 0 {
			start := p.Shape(node.Raw).Start
			at.line, at.column = start.Line, start.Column
		}
		part := string(node.Data)
		if strings.Contains(part, ".") {
			part = strconv.Quote(part) // "node.roles" = … is one odd name, not a path
		}
		parts = append(parts, part)
	}
	at.path = strings.Join(parts, ".")
	return at
}

// lookup finds the value at a dotted path; nil when it is not there, as inside an array of tables.
func lookup(tree map[string]any, path string) any {
	var v any = tree
	for part := range strings.SplitSeq(path, ".") {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[part]
	}
	return v
}

// plain turns a list of texts into []string, which keys take, and leaves everything else.
func plain(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	texts := make([]string, len(list))
	for i, element := range list {
		if texts[i], ok = element.(string); !ok {
			return v
		}
	}
	return texts
}
