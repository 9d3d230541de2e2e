package promstore

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// selector is the matchers of one Select, those of the metric's name apart. A missing label counts as empty, as PromQL has it.
type selector struct {
	names  []*labels.Matcher
	labels []*labels.Matcher
	exact  []string // the only names that can match, sorted; nil when there are others

	metric  string // last judged
	verdict bool
	judged  bool
}

func newSelector(matchers []*labels.Matcher) *selector {
	s := &selector{}
	for _, m := range matchers {
		if m.Name != model.MetricNameLabel {
			s.labels = append(s.labels, m)
			continue
		}
		s.names = append(s.names, m)
		switch {
		case m.Type == labels.MatchEqual:
			s.exact = []string{m.Value}
		case m.Type == labels.MatchRegexp && len(m.SetMatches()) > 0 && s.exact == nil:
			s.exact = slices.Sorted(slices.Values(m.SetMatches()))
		}
	}
	return s
}

// withOrigins adds to the exact names those that OTLP's metrics may have been stored under.
func (s *selector) withOrigins(d *database) *selector {
	if s.exact == nil {
		return s
	}
	if slices.Contains(s.exact, targetInfo) { // any resource may have it
		s.exact = nil
		return s
	}
	exact := slices.Clone(s.exact)
	for _, name := range s.exact {
		exact = append(exact, d.originsOf(name)...)
	}
	slices.Sort(exact)
	s.exact = slices.Compact(exact)
	return s
}

// mayHold reports whether a name between the bounds, both inclusive, can match.
func (s *selector) mayHold(least, greatest string) bool {
	if s.exact == nil {
		return true
	}
	i, _ := slices.BinarySearch(s.exact, least)
	return i < len(s.exact) && s.exact[i] <= greatest
}

// metricMatches judges a name; a name that comes again is not judged again.
func (s *selector) metricMatches(metric string) bool {
	if s.judged && s.metric == metric {
		return s.verdict
	}
	s.metric, s.judged, s.verdict = metric, true, true
	for _, m := range s.names {
		if !m.Matches(metric) {
			s.verdict = false
			break
		}
	}
	return s.verdict
}

// labelsMatch judges a label set.
func (s *selector) labelsMatch(pairs []pair) bool {
	for _, m := range s.labels {
		if !m.Matches(valueOf(pairs, m.Name)) {
			return false
		}
	}
	return true
}

// setMatches judges the labels of a series; that of its name is not looked at.
func (s *selector) setMatches(set labels.Labels) bool {
	for _, m := range s.labels {
		if !m.Matches(set.Get(m.Name)) {
			return false
		}
	}
	return true
}

// valueOf returns the value of a label, empty when the set has none of the name.
func valueOf(pairs []pair, name string) string {
	for i := range pairs {
		if pairs[i].name == name {
			return pairs[i].value
		}
	}
	return ""
}
