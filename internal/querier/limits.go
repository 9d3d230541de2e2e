package querier

import (
	"time"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/sqlplan"
)

// checkLimits refuses a statement that is above a limit of its org, before it reads a file. The statistics are of what it would read.
func (r *run) checkLimits(tables []*table) error {
	l := r.limits
	if most := l.MaxQueryBytesRead; most > 0 && r.stats.ScannedBytes > most {
		return fault.New(fault.Invalid, "the statement would read %d bytes of files, more than the limit of %d (limits.%s); ask for a shorter "+
			"time range or add conditions", r.stats.ScannedBytes, most, limits.MaxQueryBytesRead)
	}
	if most := int64(l.MaxEntriesLimit); most > 0 && r.plan.Entries.Stored {
		switch asked := r.plan.Entries.Most; {
		case asked == 0:
			return fault.New(fault.Invalid, "the statement asks for any number of rows, the limit is %d (limits.%s); add LIMIT %d", most,
				limits.MaxEntriesLimitPerQuery, most)
		case asked > most:
			return fault.New(fault.Invalid, "the statement asks for %d rows, the limit is %d (limits.%s)", asked, most,
				limits.MaxEntriesLimitPerQuery)
		}
	}
	if l.MaxQueryLength > 0 {
		for _, t := range tables {
			if err := r.checkLength(t.time.Intersect(t.Time), l.MaxQueryLength); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLength compares the time range that is read of a stream with the longest one. An open end is now.
func (r *run) checkLength(asked sqlplan.TimeRange, most time.Duration) error {
	end := asked.End
	if end == sqlplan.MaxTime {
		end = r.now.UnixMicro()
	}
	switch {
	case asked.Empty() || end <= asked.Start && asked.Start != sqlplan.MinTime:
		return nil
	case asked.Start == sqlplan.MinTime:
		return fault.New(fault.Invalid, "the statement reads a time range without a start, the limit is %s (limits.%s): give a start or a "+
			"condition on _timestamp", limits.ShowDuration(most), limits.MaxQueryLength)
	}
	// As numbers of microseconds: the difference of two times may be longer than a Duration.
	if uint64(end-asked.Start) > uint64(most.Microseconds()) {
		return fault.New(fault.Invalid, "the statement reads a time range of %d seconds, the limit is %s (limits.%s): ask for a shorter one",
			uint64(end-asked.Start)/1e6, limits.ShowDuration(most), limits.MaxQueryLength)
	}
	return nil
}
