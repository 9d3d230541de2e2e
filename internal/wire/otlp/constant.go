package otlp

// constant is a column that all rows of a resource or scope share.
type constant struct {
	name     []byte
	node     int32
	overflow bool // the name belongs to another constant
}

// constants collects the columns of a resource, then of a scope on top of it.
type constants struct {
	t      *tree
	fields []constant
	names  map[string]struct{}
	bytes  int // about the size of the values in a row
}

func newConstants(t *tree) constants {
	return constants{t: t, names: make(map[string]struct{})}
}

// cut takes back the fields from n on.
func (c *constants) cut(n int) {
	for _, f := range c.fields[n:] {
		if !f.overflow {
			delete(c.names, string(f.name))
		}
		c.bytes -= c.size(f.node)
	}
	c.fields = c.fields[:n]
}

// text adds a text that OTLP defines; an empty one is none.
func (c *constants) text(prefix, name string, text []byte) {
	if len(text) > 0 {
		c.leaf(prefix, []byte(name), c.scalar(nodeString, 0, text))
	}
}

// count adds a count that OTLP defines; 0 is none.
func (c *constants) count(prefix, name string, n uint64) {
	if n != 0 {
		c.leaf(prefix, []byte(name), c.scalar(nodeInt, n, nil))
	}
}

func (c *constants) scalar(kind nodeKind, num uint64, text []byte) int32 {
	n := c.t.add(0, 0, nil)
	c.t.nodes[n].kind, c.t.nodes[n].num, c.t.nodes[n].text = kind, num, text
	return n
}

// attributes adds attributes in the way of row.attributes, their names behind a prefix.
func (c *constants) attributes(prefix string, first int32) {
	c.t.eachLeaf(first, func(name []byte, n int32) { c.attribute(prefix, name, n) })
}

// attribute adds one attribute. One whose name is taken by what OTLP defines goes to attributesPrefix + name behind the prefix.
func (c *constants) attribute(prefix string, name []byte, n int32) {
	if c.t.nodes[n].kind == nodeNull {
		return
	}
	if isScopeField(prefix, name) {
		if _, taken := c.names[prefix+string(name)]; taken {
			name = c.t.keep([]byte(attributesPrefix), name)
		}
	}
	c.leaf(prefix, name, n)
}

// Names of columns of resource and scope, behind their prefixes.
const (
	fieldName      = "name"    // of the scope
	fieldVersion   = "version" // of the scope
	fieldSchemaURL = "schema_url"
	fieldDropped   = "dropped_attributes_count"
)

func isScopeField(prefix string, name []byte) bool {
	switch string(name) {
	case fieldSchemaURL, fieldDropped:
		return true
	case fieldName, fieldVersion:
		return prefix == scopePrefix
	default:
		return false
	}
}

func (c *constants) leaf(prefix string, name []byte, n int32) {
	f := constant{name: c.t.keep([]byte(prefix), name), node: n}
	if _, f.overflow = c.names[string(f.name)]; !f.overflow {
		c.names[string(f.name)] = struct{}{}
	}
	c.fields = append(c.fields, f)
	c.bytes += c.size(n)
}

// size is about what a value takes in a row.
func (c *constants) size(n int32) int {
	x := &c.t.nodes[n]
	size := 8 + len(x.text)
	for k := x.first; k != 0; k = c.t.nodes[k].next {
		size += c.size(k) + len(c.t.nodes[k].key)
	}
	return size
}
