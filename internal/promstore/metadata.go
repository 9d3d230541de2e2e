package promstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// metadataAge is how long what a sender said of a metric is shown. Senders repeat it every minute or so.
const metadataAge = 2 * time.Hour

// Metadata returns what senders said lately of the metric's kind, unit and meaning, of all metrics when metric is empty. Senders that do
// not agree make several entries of a metric.
func (s *Store) Metadata(ctx context.Context, org tenant.ID, database, metric string) (_ map[string][]metadata.Metadata, err error) {
	now := s.deps.Clock.Now()
	q := &querier{
		store: s, org: org, database: database, mint: now.Add(-metadataAge).UnixMilli(), maxt: now.Add(metadataAge).UnixMilli(),
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	var matchers []*labels.Matcher
	if metric != "" {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, metric))
	}
	out := make(map[string][]metadata.Metadata)
	err = q.scanTexts(ctx, newSelector(matchers), metadataColumns(), func(_ *series, key seriesKey, texts []string) error {
		m := metadata.Metadata{Type: metricType(texts[0]), Unit: strings.Clone(texts[1]), Help: strings.Clone(texts[2])}
		name := strings.Clone(key.metric)
		// Of OTLP's sums most are counters; the names of Prometheus' own metrics stay as they are under the rules.
		if origin := (&otlpMetric{metric: name, kind: texts[0], unit: m.Unit, monotonic: true}); translatedType(origin) != 0 {
			name = promName(origin)
		}
		if !slices.Contains(out[name], m) {
			out[name] = append(out[name], m)
		}
		return nil
	})
	return out, err
}

// metricType returns a stored kind in Prometheus' words.
func metricType(kind string) model.MetricType {
	switch k := signal.MetricKind(kind); k {
	case signal.MetricExponentialHistogram:
		return model.MetricTypeHistogram
	case signal.MetricSum:
		return model.MetricTypeCounter
	case signal.MetricUntyped, "":
		return model.MetricTypeUnknown
	default:
		return model.MetricType(strings.Clone(string(k)))
	}
}
