package cli

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// scrapeEvery is the time between the points of a metric, unless that made more than a quarter of the rows.
const scrapeEvery = 15 * time.Second

// scrapeInterval returns the time between points when rows of all kinds are spread over span.
func scrapeInterval(rows int, span time.Duration) time.Duration {
	scrapes := max(rows/4/pointsPerScrape(), 1)
	return max(scrapeEvery, span/time.Duration(scrapes))
}

// pointsPerScrape counts the points of a scrape.
func pointsPerScrape() int { return 3 * len(shopServices()) }

// pointsOver returns how many points the shop produces in a time.
func (s *shop) pointsOver(span time.Duration) int { return int(span/s.every) * pointsPerScrape() }

// scrape writes the points that are due up to now.
func (s *shop) scrape(now time.Time) {
	for next := s.scraped.Add(s.every); !next.After(now); next = next.Add(s.every) {
		s.scraped = next
		for _, service := range shopServices() {
			s.scrapeService(service, next)
		}
	}
}

func (s *shop) scrapeService(service string, at time.Time) {
	t := s.tally[service]
	rm := s.data.metrics.ResourceMetrics().AppendEmpty()
	fillResource(rm.Resource(), service)
	metrics := rm.ScopeMetrics().AppendEmpty().Metrics()
	counter := func(name, unit string) pmetric.NumberDataPoint {
		m := metrics.AppendEmpty()
		m.SetName(name)
		m.SetUnit(unit)
		sum := m.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		p := sum.DataPoints().AppendEmpty()
		p.SetStartTimestamp(pcommon.NewTimestampFromTime(s.started))
		p.SetTimestamp(pcommon.NewTimestampFromTime(at))
		p.Attributes().PutStr("service", service)
		return p
	}
	counter("http_requests_total", "{request}").SetIntValue(t.requests)
	counter("http_requests_failed_total", "{request}").SetIntValue(t.failures)
	counter("http_request_seconds_total", "s").SetDoubleValue(t.seconds)
}
