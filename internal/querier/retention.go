package querier

import (
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/sqlplan"
)

// visible returns the event times that the request may see of a stream: the asked range without what has expired.
func (r *run) visible(s *stream, d catalog.Database) sqlplan.TimeRange {
	out := sqlplan.Between(r.request.Start, r.request.End)
	age := sqlplan.ShorterRetention(sqlplan.ShorterRetention(r.querier.deps.Retention(s.Org), d.Options), s.Options)
	if age > 0 {
		out.Start = max(out.Start, r.now.Add(-age).UnixMicro())
	}
	return out
}
