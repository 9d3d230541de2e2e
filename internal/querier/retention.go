package querier

import (
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/sqlplan"
)

// visible returns the event times that the request may see of a stream: the asked range without what has expired. The shortest of the
// org's, the database's and the stream's retention counts (decisions E7).
func (r *run) visible(s *stream, d catalog.Database) sqlplan.TimeRange {
	out := sqlplan.Between(r.request.Start, r.request.End)
	age := r.querier.deps.Retention(r.request.Org)
	for _, options := range []map[string]string{d.Options, s.Options} {
		// Values were checked when they were set; one that a newer program wrote and this one cannot read keeps rows visible.
		if own, err := sqlplan.ParseRetention(options[sqlplan.OptionRetention]); err == nil && (age == 0 || own < age) {
			age = own
		}
	}
	if age > 0 {
		out.Start = max(out.Start, r.now.Add(-age).UnixMicro())
	}
	return out
}
