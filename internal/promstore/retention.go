package promstore

import (
	"math"
	"time"

	"github.com/millstream/millstream/internal/sqlplan"
)

const optionRetention = sqlplan.OptionRetention

// horizon tells how old the rows of a metric may be.
type horizon struct {
	now   time.Time
	age   time.Duration // of the org and the database, 0 = no limit
	names *database
}

func (s *Store) horizon(q *querier, d *database) *horizon {
	return &horizon{now: s.deps.Clock.Now(), age: shorter(s.deps.Retention(q.org), d.options[optionRetention]), names: d}
}

// oldest returns the least time in milliseconds that may be shown of a metric.
func (h *horizon) oldest(metric string) int64 {
	age := shorter(h.age, h.names.retention[metric])
	if age == 0 {
		return math.MinInt64
	}
	return h.now.Add(-age).UnixMilli()
}

// shorter returns the shorter of two retentions, where 0 and "" are none. A text that a newer program wrote and this one cannot read
// keeps rows visible.
func shorter(age time.Duration, option string) time.Duration {
	if own, err := sqlplan.ParseRetention(option); err == nil && own > 0 && (age == 0 || own < age) {
		return own
	}
	return age
}
