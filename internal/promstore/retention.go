package promstore

import (
	"math"
	"time"

	"github.com/millstream/millstream/internal/sqlplan"
)

// horizon tells how old the rows of a metric may be.
type horizon struct {
	now   time.Time
	age   time.Duration // of the org and the database, 0 = no limit
	names *database
}

func (s *Store) horizon(q *querier, d *database) *horizon {
	return &horizon{now: s.deps.Clock.Now(), age: sqlplan.ShorterRetention(s.deps.Retention(q.org), d.options), names: d}
}

// oldest returns the least time in milliseconds that may be shown of a metric.
func (h *horizon) oldest(metric string) int64 {
	age := sqlplan.ShorterRetention(h.age, h.names.metricOptions[metric])
	if age == 0 {
		return math.MinInt64
	}
	return h.now.Add(-age).UnixMilli()
}
