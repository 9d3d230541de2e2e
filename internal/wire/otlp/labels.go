package otlp

import (
	"bytes"
)

// collectLabels puts the labels of the point at hand together: resource and scope, then the point's attributes. Of equal names the
// first stays a label, the others go to the row's overflow.
func (m *metricDecoder) collectLabels() {
	m.labelSet.Reset()
	for _, c := range m.shared.fields {
		if c.overflow {
			m.row.spill(c.name, c.node)
			continue
		}
		m.label(c.name, c.node)
	}
	m.tree.eachLeaf(m.point.attributes.first, func(name []byte, n int32) {
		if len(name) == 0 {
			m.row.spill(name, n)
			return
		}
		m.label(m.labelName(name), n)
	})
	added := m.labelSet.Len()
	if m.labelSet.Sort(); m.labelSet.Len() < added {
		m.spillDuplicates()
	}
}

// label adds a label. A value that is empty, or none, is no label.
func (m *metricDecoder) label(name []byte, n int32) {
	m.row.text = m.tree.appendText(m.row.text[:0], n)
	m.labelSet.Add(name, m.row.text)
}

// labelName returns the name of a point's attribute as a label: behind attributesPrefix when resource or scope have it.
func (m *metricDecoder) labelName(name []byte) []byte {
	if !bytes.HasPrefix(name, []byte(resourcePrefix)) && !bytes.HasPrefix(name, []byte(scopePrefix)) {
		return name
	}
	if _, taken := m.shared.names[string(name)]; !taken {
		return name
	}
	return m.tree.keep([]byte(attributesPrefix), name)
}

// spillDuplicates sends the attributes whose names an earlier one of the point has to the overflow.
func (m *metricDecoder) spillDuplicates() {
	seen := make(map[string]struct{})
	m.tree.eachLeaf(m.point.attributes.first, func(name []byte, n int32) {
		m.row.text = m.tree.appendText(m.row.text[:0], n)
		if len(name) == 0 || len(m.row.text) == 0 {
			return
		}
		name = m.labelName(name)
		if _, dup := seen[string(name)]; dup {
			m.row.spill(name, n)
			return
		}
		seen[string(name)] = struct{}{}
	})
}
