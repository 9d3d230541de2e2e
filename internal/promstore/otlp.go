package promstore

import (
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/otlptranslator"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
)

// Prefixes of the stored labels of OTLP (docs/protocol/otlp.md).
const (
	resourcePrefix = "resource."
	scopePrefix    = "scope."
	userPrefix     = "_user_"
	targetInfo     = "target_info"
)

// otlpMetric is what rows of one stored series of OTLP share. A row is OTLP's when it is a sample and says its kind.
type otlpMetric struct {
	metric, labels, kind, unit, temporality string
	monotonic                               bool
}

// otlpTarget is what such rows become under Prometheus' rules: series of other names and labels. A nil series is not asked for.
type otlpTarget struct {
	name   string
	labels []pair // without the name
	kind   signal.MetricKind
	delta  bool
	info   *series // target_info of the resource
	single *series // of gauges, sums and exponential histograms
	series map[string]*series
}

// otlpTranslator makes Prometheus series of OTLP's rows.
type otlpTranslator struct {
	failed    error // of add
	collector *collector
	targets   map[otlpMetric]*otlpTarget
	byLabels  map[string]*series // series of the same final labels are one
	open      map[*series]*growing
	order     []*series
	points    pointParser
}

func newOTLPTranslator(c *collector) *otlpTranslator {
	return &otlpTranslator{
		collector: c, targets: make(map[otlpMetric]*otlpTarget), byLabels: make(map[string]*series), open: make(map[*series]*growing),
	}
}

// translatedType returns what the naming rules make of a kind.
func translatedType(m *otlpMetric) otlptranslator.MetricType {
	switch signal.MetricKind(m.kind) {
	case signal.MetricGauge:
		return otlptranslator.MetricTypeGauge
	case signal.MetricSum:
		if m.monotonic {
			return otlptranslator.MetricTypeMonotonicCounter
		}
		return otlptranslator.MetricTypeNonMonotonicCounter
	case signal.MetricHistogram:
		return otlptranslator.MetricTypeHistogram
	case signal.MetricExponentialHistogram:
		return otlptranslator.MetricTypeExponentialHistogram
	case signal.MetricSummary:
		return otlptranslator.MetricTypeSummary
	default:
		return otlptranslator.MetricTypeUnknown
	}
}

// promName returns the name that a metric has in PromQL, without the suffixes of histograms and summaries.
func promName(m *otlpMetric) string {
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	name, err := namer.Build(otlptranslator.Metric{Name: m.metric, Unit: m.unit, Type: translatedType(m)})
	if err != nil {
		return m.metric
	}
	return name
}

// target returns what rows become, nil when nobody asks for any of it. The texts are kept.
func (t *otlpTranslator) target(m otlpMetric) (*otlpTarget, error) {
	if x, ok := t.targets[m]; ok {
		return x, nil
	}
	pairs, err := appendPairs(nil, m.labels)
	if err != nil {
		return nil, err
	}
	point, resource := splitResource(pairs)
	x := &otlpTarget{
		name: promName(&m), labels: point, kind: signal.MetricKind(m.kind), delta: m.temporality == signal.TemporalityDelta,
		series: make(map[string]*series),
	}
	if resource != nil {
		x.info = t.find(targetInfo, resource, false)
	}
	wanted := x.info != nil
	switch x.kind {
	case signal.MetricHistogram, signal.MetricSummary:
		// Whether a bucket or quantile is asked for is known once its label is.
		for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
			wanted = wanted || t.collector.selector.metricMatches(x.name+suffix)
		}
	default:
		x.single = t.find(x.name, x.labels, x.delta)
		wanted = wanted || x.single != nil
	}
	if !wanted {
		x = nil
	}
	t.targets[m] = x
	return x, nil
}

// find returns the series of final labels, nil when it does not match.
func (t *otlpTranslator) find(name string, pairs []pair, delta bool) *series {
	c := t.collector
	if !c.selector.metricMatches(name) || !c.selector.labelsMatch(pairs) {
		return nil
	}
	lset := labelsOf(&c.builder, name, pairs)
	key := string(lset.Bytes(nil))
	if s, ok := t.byLabels[key]; ok {
		return s
	}
	var s *series // of stored label sets that nobody lists
	if c.batch.has(lset) {
		from, _ := c.visible(name)
		s = &series{lset: lset, from: from, delta: delta}
	}
	t.byLabels[key] = s
	return s
}

// part returns a series of a histogram or summary.
func (t *otlpTranslator) part(x *otlpTarget, suffix, label, value string) *series {
	key := suffix + "\x00" + value
	if s, ok := x.series[key]; ok {
		return s
	}
	pairs := x.labels
	if label != "" {
		pairs = append(slices.Clip(pairs), pair{label, value})
	}
	s := t.find(x.name+suffix, pairs, x.delta)
	x.series[key] = s
	return s
}

// add appends a sample to the open piece of a series; a nil series takes none.
func (t *otlpTranslator) add(s *series, millis int64, value float64, histogram []byte, start int64) {
	if s == nil {
		return
	}
	if !t.collector.samples {
		t.failed = errors.Join(t.failed, t.collector.note(s, 1))
		return
	}
	g := t.open[s]
	if g == nil {
		g = &growing{sorted: true}
		t.open[s] = g
		t.order = append(t.order, s)
	}
	g.append(millis, value, histogram, start)
}

// flush hands the open pieces over.
func (t *otlpTranslator) flush(version int64) error {
	if t.failed != nil {
		return t.failed
	}
	for _, s := range t.order {
		g := t.open[s]
		g.version = version
		if !g.sorted {
			g.piece = merged([]piece{g.piece})
			g.version = version
		}
		if err := t.collector.add(s, g.piece); err != nil {
			return err
		}
	}
	clear(t.open)
	t.order = t.order[:0]
	return nil
}

// splitResource applies the rules for labels: names become label names, what wants one name is joined, resource and scope go away except
// for job and instance. resource is the labels of target_info, nil when there is nothing to tell.
func splitResource(pairs []pair) (point, resource []pair) {
	var service, namespace, instance string
	names := &labelNames{}
	info := &labelNames{}
	for _, p := range pairs {
		attribute, ofResource := strings.CutPrefix(p.name, resourcePrefix)
		switch {
		case ofResource && attribute == "service.name":
			service = p.value
		case ofResource && attribute == "service.namespace":
			namespace = p.value
		case ofResource && attribute == "service.instance.id":
			instance = p.value
		case ofResource && (attribute == "schema_url" || attribute == "dropped_attributes_count"): // no attributes
		case ofResource:
			info.add(attribute, p.value)
		case strings.HasPrefix(p.name, scopePrefix):
		default:
			names.add(strings.Replace(p.name, userPrefix, "_", 1), p.value)
		}
	}
	if namespace != "" && service != "" {
		service = namespace + "/" + service
	}
	for _, list := range []*labelNames{names, info} {
		list.set("job", service)
		list.set("instance", instance)
	}
	if service == "" && instance == "" || !info.added {
		return names.sorted(), nil
	}
	return names.sorted(), info.sorted()
}

// labelNames collects labels under their Prometheus names.
type labelNames struct {
	pairs []pair
	added bool
}

func (l *labelNames) add(attribute, value string) {
	namer := otlptranslator.LabelNamer{}
	name, err := namer.Build(attribute)
	if err != nil {
		return // nothing of it is left
	}
	l.added = true
	for i := range l.pairs {
		if l.pairs[i].name == name {
			l.pairs[i].value += ";" + value
			return
		}
	}
	l.pairs = append(l.pairs, pair{name, value})
}

// set replaces a label; an empty value is none.
func (l *labelNames) set(name, value string) {
	if value == "" {
		return
	}
	for i := range l.pairs {
		if l.pairs[i].name == name {
			l.pairs[i].value = value
			return
		}
	}
	l.pairs = append(l.pairs, pair{name, value})
}

func (l *labelNames) sorted() []pair {
	sort.Slice(l.pairs, func(i, j int) bool { return l.pairs[i].name < l.pairs[j].name })
	return l.pairs
}

func tooManySeries(limit int) error {
	return fault.New(fault.Invalid, "the query selects more than %d series (limits.%s); select fewer, or raise the limit of the org",
		limit, limits.MaxFetchedSeries)
}
