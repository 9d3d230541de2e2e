package overrides

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// Fault is one thing wrong in a file.
type Fault struct {
	Line    int    // from 1; 0 when none can be named
	Org     string // whose entry it is, as written; "" when the whole file cannot be used
	Message string
}

// String returns the fault as one line without the file's name: "12: org big_user: ingestion_rate_mb: …".
func (f Fault) String() string {
	text := f.Message
	if f.Org != "" {
		text = "org " + f.Org + ": " + text
	}
	if f.Line > 0 {
		text = strconv.Itoa(f.Line) + ": " + text
	}
	return text
}

// Document is a file that was read.
type Document struct {
	// Good are the entries without fault.
	Good map[tenant.ID]limits.Override
	// Bad are the orgs whose entry has a fault.
	Bad map[tenant.ID]bool
	// Faults are all faults by rising line.
	Faults []Fault
}

// Broken reports whether a fault concerns the whole file, of which nothing can be used then.
func (d Document) Broken() bool {
	return slices.ContainsFunc(d.Faults, func(f Fault) bool { return f.Org == "" })
}

// Parse reads a file's text.
func Parse(text []byte) Document {
	p := &parser{Document: Document{Good: map[tenant.ID]limits.Override{}, Bad: map[tenant.ID]bool{}}}
	p.file(text)
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return p.Document
}

type parser struct {
	Document

	org string // whose entry is being read
}

func (p *parser) fault(line int, format string, args ...any) {
	p.Faults = append(p.Faults, Fault{Line: line, Org: p.org, Message: fmt.Sprintf(format, args...)})
}

// yamlPlace finds the line in a message of the YAML parser.
var yamlPlace = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`) //nolint:gochecknoglobals // compiled once

func (p *parser) file(text []byte) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		line := 0
		message := err.Error()
		if m := yamlPlace.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1]) // 0 without a line
			message = m[2]
		}
		p.fault(line, "this is no YAML: %s", message)
		return
	}
	if len(doc.Content) == 0 {
		p.fault(0, "the file is empty; without any overrides it reads: overrides: {}")
		return
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		p.fault(root.Line, "a file with the key overrides is expected")
		return
	}
	found := false
	for key, value := range pairs(root) {
		switch {
		case key.Value != "overrides":
			p.fault(key.Line, "unknown key %.64q; overrides is the only one", key.Value)
		case found:
			p.fault(key.Line, "overrides stands here a second time")
		default:
			found = true
			p.entries(value)
		}
	}
	if !found && !p.Broken() {
		p.fault(root.Line, "the key overrides is missing")
	}
}

// pairs yields the keys and values of a mapping, aliases resolved.
func pairs(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], target(n.Content[i+1])) {
				return
			}
		}
	}
}

// target follows an alias to what it stands for.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// isNull reports whether nothing was written behind a key.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// entries reads the orgs.
func (p *parser) entries(n *yaml.Node) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		p.fault(n.Line, "overrides: orgs with their limits are expected")
		return
	}
	for key, value := range pairs(n) {
		p.org = key.Value
		p.entry(key, value)
		p.org = ""
	}
}

// entry reads the limits of one org.
func (p *parser) entry(key, value *yaml.Node) {
	id, err := tenant.ParseID(key.Value) // a key that is no scalar has no value
	if err != nil {
		p.org = strconv.Quote(key.Value)
		p.fault(key.Line, "this is no org: %s", fault.Message(err))
		return
	}
	before := len(p.Faults)
	if _, ok := p.Good[id]; ok || p.Bad[id] {
		p.fault(key.Line, "the org stands here a second time")
	}
	override := limits.Override{}
	switch {
	case isNull(value): // an entry without limits
	case value.Kind != yaml.MappingNode:
		p.fault(value.Line, "limits with their values are expected")
	default:
		p.limits(value, &override)
	}
	if len(p.Faults) > before {
		p.Bad[id] = true
		delete(p.Good, id)
		return
	}
	p.Good[id] = override
}

// limits reads one entry. What a merge key ("<<") brings stands below what the entry says itself.
func (p *parser) limits(n *yaml.Node, into *limits.Override) {
	const depth = 8 // of merges within merges
	p.merged(n, into, depth)
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		if key.ShortTag() == "!!merge" {
			continue
		}
		if seen[key.Value] {
			p.fault(key.Line, "%s stands here a second time", key.Value)
			continue
		}
		seen[key.Value] = true
		p.set(key, value, into)
	}
}

// merged reads what the merge keys of an entry refer to.
func (p *parser) merged(n *yaml.Node, into *limits.Override, depth int) {
	for key, value := range pairs(n) {
		if key.ShortTag() != "!!merge" {
			continue
		}
		if value.Kind != yaml.MappingNode || depth == 0 {
			p.fault(key.Line, "<<: one entry is expected, as in <<: *name")
			continue
		}
		p.merged(value, into, depth-1)
		for key, value := range pairs(value) {
			if key.ShortTag() != "!!merge" {
				p.set(key, value, into)
			}
		}
	}
}

func (p *parser) set(key, value *yaml.Node, into *limits.Override) {
	v, err := plain(value)
	if err == nil {
		err = into.Set(key.Value, v)
	}
	if err == nil {
		return
	}
	if _, known := limits.Find(key.Value); !known {
		p.fault(key.Line, "%.64s is no limit%s", key.Value, similar(key.Value))
		return
	}
	p.fault(value.Line, "%s: %v", key.Value, err)
}

// plain turns a value into what limits take.
func plain(n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode {
		return nil, errors.New("one value is expected")
	}
	switch n.ShortTag() {
	case "!!int":
		var v int64
		if err := n.Decode(&v); err != nil {
			return nil, errors.New("the number is too large")
		}
		return v, nil
	case "!!float":
		var v float64
		err := n.Decode(&v)
		return v, err
	case "!!bool":
		var v bool
		err := n.Decode(&v)
		return v, err
	case "!!null":
		return nil, errors.New("a value is missing")
	default:
		return n.Value, nil
	}
}

// similar names the known limit that is written most alike, if one is.
func similar(name string) string {
	best, most := "", 0
	for _, d := range limits.Definitions() {
		if n := commonEnds(name, d.Name); n > most {
			best, most = d.Name, n
		}
	}
	if 3*most < 2*max(len(name), len(best)) {
		return "; docs/operate/limits.md lists them"
	}
	return "; did you mean " + best + "?"
}

// commonEnds counts the letters that two names have in common at their beginning and at their end.
func commonEnds(a, b string) int {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	a, b = a[head:], b[head:]
	tail := 0
	for tail < len(a) && tail < len(b) && strings.HasSuffix(a, b[len(b)-tail-1:]) {
		tail++
	}
	return head + tail
}
