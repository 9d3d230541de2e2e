package otlp

import (
	"bytes"

	"github.com/millstream/millstream/internal/wire"
)

// maxLabels is how many labels a point may have. Looking for a name among the labels takes time in proportion to their number.
const maxLabels = 256

// collectLabels puts the labels of the point at hand together: resource and scope, then the point's attributes. Of equal names the
// first stays a label, the others go to the row's overflow. It fails when they are above the org's limits.
func (m *metricDecoder) collectLabels() error {
	m.labelSet.Reset()
	for _, c := range m.shared.fields {
		if c.overflow {
			m.row.spill(c.name, c.node)
			continue
		}
		m.label(c.name, c.node)
	}
	m.tree.eachLeaf(m.point.attributes.first, func(name []byte, n int32) { m.label(m.labelName(name), n) })
	if m.labelSet.Len() > maxLabels {
		return wire.Reject(wire.BadLabels, "the data point has more than %d labels with those of its resource and scope", maxLabels)
	}
	return m.opts.CheckLabels(&m.labelSet)
}

// label adds a label unless there are too many. A value that is empty, or none, is no label.
func (m *metricDecoder) label(name []byte, n int32) {
	if m.labelSet.Len() > maxLabels {
		return
	}
	m.row.text = m.tree.appendText(m.row.text[:0], n)
	if len(name) == 0 || !m.labelSet.Add(name, m.row.text) {
		m.row.spill(name, n)
	}
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
