package columnar

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/s2"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// metaLabels is the key of a metrics file's label table in its footer.
const metaLabels = "millstream.labels"

// MetricName is the name under which a label table lists the names of metrics.
const MetricName = "__name__"

// maxTableBytes bounds a label table in a footer. A file whose labels have more values has none.
const maxTableBytes = 1 << 20

// LabelTable lists the labels of a metrics file's samples with their values, so that questions about labels need not read rows.
type LabelTable struct {
	// Plain is false when the file holds rows of OTLP, whose names and labels in PromQL are others than those stored.
	Plain  bool
	Values map[string][]string // by label name, MetricName included; sorted, each value once
}

// labelCollector builds the table of a file that is written series by series. Its zero value does nothing.
type labelCollector struct {
	values  map[string]map[string]struct{}
	bytes   int
	json    fastjson.Parser
	metric  string
	labels  string
	counted bool // the series at hand has a sample and stands in values
	begun   bool
}

func newLabelCollector() *labelCollector {
	return &labelCollector{values: make(map[string]map[string]struct{})}
}

// add takes the rows of a row group.
func (l *labelCollector) add(fields []*field, refs []rowRef) error {
	if l == nil || l.bytes > maxTableBytes {
		return nil
	}
	byName := func(name string) []arrow.Array {
		for _, f := range fields {
			if f.phys == name {
				return f.arrays
			}
		}
		return nil
	}
	metrics, sets := byName(signal.MetricColumn), byName(signal.LabelsColumn)
	samples := [][]arrow.Array{byName(signal.ValueColumn), byName(signal.HistogramColumn), byName(signal.FlagsColumn)}
	for _, r := range refs {
		metric, set := textAt(metrics, r), textAt(sets, r)
		if !l.begun || metric != l.metric || set != l.labels {
			l.begun, l.counted, l.metric, l.labels = true, false, metric, set
		}
		if !l.counted && slices.ContainsFunc(samples, func(a []arrow.Array) bool {
			return len(a) > 0 && a[r.record] != nil && a[r.record].IsValid(int(r.row))
		}) {
			l.counted = true
			if err := l.count(metric, set); err != nil {
				return err
			}
		}
	}
	l.metric, l.labels = strings.Clone(l.metric), strings.Clone(l.labels) // the records may go
	return nil
}

func textAt(arrays []arrow.Array, r rowRef) string {
	if arrays == nil {
		return ""
	}
	if c, ok := arrays[r.record].(*array.String); ok && c.IsValid(int(r.row)) {
		return c.Value(int(r.row))
	}
	return ""
}

func (l *labelCollector) count(metric, set string) error {
	l.value(MetricName, metric)
	v, err := l.json.Parse(set)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "label set %.64q", set)
	}
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) { l.value(string(key), string(v.GetStringBytes())) })
	return nil
}

func (l *labelCollector) value(name, value string) {
	values := l.values[name]
	if values == nil {
		values = make(map[string]struct{})
		l.values[strings.Clone(name)] = values
	}
	if _, ok := values[value]; !ok {
		values[strings.Clone(value)] = struct{}{}
		l.bytes += len(value) + 1
	}
}

// table returns the text for the footer: base64 of an S2 block of
//
//	u8 plain, then by name: uvarint length and bytes of the name, uvarint number of values, and by value: uvarint bytes shared with the
//	value before, uvarint length and bytes of the rest.
//
// It is empty when there is no table.
func (l *labelCollector) table(fields []*field, rows int64) string {
	if l == nil || l.bytes > maxTableBytes {
		return ""
	}
	plain := []byte{0}
	if !holdsOTLP(fields, rows) {
		plain[0] = 1
	}
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		plain = appendLength(plain, name)
		values := slices.Sorted(maps.Keys(l.values[name]))
		plain = binary.AppendUvarint(plain, uint64(len(values)))
		before := ""
		for _, v := range values {
			shared := 0
			for shared < len(before) && shared < len(v) && before[shared] == v[shared] {
				shared++
			}
			plain = appendLength(binary.AppendUvarint(plain, uint64(shared)), v[shared:])
			before = v
		}
	}
	return base64.StdEncoding.EncodeToString(s2.EncodeBetter(nil, plain))
}

func appendLength(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// holdsOTLP reports whether some sample says its kind: more rows do than there are rows without a sample.
func holdsOTLP(fields []*field, rows int64) bool {
	var kinds, samples int64
	for _, f := range fields {
		switch f.phys {
		case signal.KindColumn:
			kinds += f.stats.Values
		case signal.ValueColumn, signal.HistogramColumn, signal.FlagsColumn:
			samples += f.stats.Values
		}
	}
	return kinds > max(0, rows-samples)
}

// Labels returns the file's label table, nil when it has none.
func (s *SeriesFile) Labels() (*LabelTable, error) {
	text, ok := s.file.Meta(metaLabels)
	if !ok {
		return nil, nil //nolint:nilnil // a file need not have one
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "label table")
	}
	if n, err := s2.DecodedLen(packed); err != nil || n > 16*maxTableBytes {
		return nil, fault.New(fault.Corrupt, "label table of %d bytes", n)
	}
	plain, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "label table")
	}
	return parseTable(plain)
}

func parseTable(b []byte) (*LabelTable, error) {
	if len(b) == 0 {
		return nil, errTable()
	}
	t := &LabelTable{Plain: b[0] == 1, Values: make(map[string][]string)}
	b = b[1:]
	for len(b) > 0 {
		name, rest, ok := cutLength(b)
		if !ok {
			return nil, errTable()
		}
		count, n := binary.Uvarint(rest)
		if n <= 0 || count > uint64(len(rest)) {
			return nil, errTable()
		}
		b = rest[n:]
		values := make([]string, 0, count)
		before := ""
		for range count {
			shared, n := binary.Uvarint(b)
			if n <= 0 || shared > uint64(len(before)) {
				return nil, errTable()
			}
			tail, rest, ok := cutLength(b[n:])
			if !ok {
				return nil, errTable()
			}
			before = before[:shared] + string(tail)
			values, b = append(values, before), rest
		}
		t.Values[string(name)] = values
	}
	return t, nil
}

func cutLength(b []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	return b[n : n+int(size)], b[n+int(size):], true
}

func errTable() error { return fault.New(fault.Corrupt, "label table is damaged") }
