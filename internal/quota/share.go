package quota

import (
	"cmp"
	"math/bits"
	"time"

	"github.com/millstream/millstream/internal/tenant"
)

// Kind says what a budget counts.
type Kind string

// The kinds.
const (
	KindRows  Kind = "rows"  // of one database, ingest_rows_rate_limit
	KindBytes Kind = "bytes" // of one org, limits.ingestion_rate_mb
)

// Budget names a rate that all frontends of a cluster divide among them.
type Budget struct {
	Kind     Kind
	Org      tenant.ID
	Database string // empty for bytes
}

// Compare orders budgets by kind, org and database.
func (b Budget) Compare(other Budget) int {
	return cmp.Or(
		cmp.Compare(b.Kind, other.Kind), cmp.Compare(b.Org, other.Org), cmp.Compare(b.Database, other.Database),
	)
}

// Share is what a division of a budget gave to this frontend. The zero Share is none yet: then the whole limit is the quota.
type Share struct {
	Epoch int64  // of the division
	Quota uint64 // a second
	Limit uint64 // that was divided
}

// Of returns the quota under a limit that is not 0: the whole limit before the first division, else the share, in the proportion in which
// the limit has changed since. It is at least 1 and at most the limit. So the sum over all frontends follows a new limit at once.
func (s Share) Of(limit uint64) uint64 {
	if s.Limit == 0 {
		return limit
	}
	quota := s.Quota
	if s.Limit != limit {
		high, low := bits.Mul64(quota, limit)
		if high >= s.Limit {
			return limit
		}
		quota, _ = bits.Div64(high, low, s.Limit)
	}
	return min(max(quota, 1), limit)
}

// Usage is what a frontend did with its share of a budget, for the next division.
type Usage struct {
	Budget
	Limit    uint64 // a second, whole; 0 = there is none any more
	Quota    uint64 // in force here
	Epoch    int64  // of the division in force, 0 = none
	Accepted uint64 // since the start of the process
	Refused  uint64 // likewise
	Debt     uint64 // that the refill has yet to pay
	// Missing is what a bucket without debt lacks to be full. It counts as debt in a division: a frontend that had little to do would
	// otherwise keep an empty bucket, and refuse requests that fit into a full one.
	Missing uint64
	Idle    time.Duration
}

// MaxIdle is how long a budget without traffic and debt, and with an unchanged limit, is divided for.
const MaxIdle = time.Minute
