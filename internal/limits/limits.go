package limits

import "time"

// Limits are all limits of one org. A zero means no limit unless the field says otherwise. Values are copied, never shared.
type Limits struct {
	// IngestionRate is the inflated bytes that the org may write a second, in all of the cluster.
	IngestionRate int64
	// IngestionBurst is the inflated bytes that the org may write at once after a pause, and so its largest request. It is never
	// divided among nodes. 0: as much as a second's rate.
	IngestionBurst int64
	// MaxLineSize is the longest wire form of one row, in bytes. At least 1 KiB.
	MaxLineSize int64
	// MaxLabelNames, MaxLabelNameLength and MaxLabelValueLength bound the label set of a Loki stream or a metric's series; the
	// lengths are bytes.
	MaxLabelNames       int
	MaxLabelNameLength  int
	MaxLabelValueLength int
	// RejectOldSamples switches RejectOldSamplesMaxAge, the age above which a row is refused when it comes.
	RejectOldSamples       bool
	RejectOldSamplesMaxAge time.Duration
	// CreationGracePeriod is how far in the future a row may lie.
	CreationGracePeriod time.Duration
	// MaxGlobalStreams is how many named streams the org may have, over all databases and signals.
	MaxGlobalStreams int
	// MaxColumns is how many columns a stream may have; fields beyond go to one JSON column. At least 1.
	MaxColumns int

	// MaxQueryLength is the longest time range of one query.
	MaxQueryLength time.Duration
	// MaxQueryLookback is how far back a query sees; an earlier start is moved without a word.
	MaxQueryLookback time.Duration
	// MaxEntriesLimit is the most rows that a query for rows, not for aggregates, may ask for.
	MaxEntriesLimit int
	// MaxQueryBytesRead is the most bytes of files that a query may read, known before it reads them.
	MaxQueryBytesRead int64
	// MaxFetchedSeries is how many series one PromQL query may load.
	MaxFetchedSeries int
	// MaxFetchedSamples is how many samples one PromQL query may load.
	MaxFetchedSamples int
	// QueryTimeout ends a query that runs longer. The process's own timeout holds as well.
	QueryTimeout time.Duration
	// MaxQueryParallelism is how many parts of one split query run at once. At least 1.
	MaxQueryParallelism int
	// SplitQueriesByInterval is the length of the parts that a long query is split into. 0: queries are not split.
	SplitQueriesByInterval time.Duration
	// MaxConcurrentQueries is how many queries of the org run at once, over all queriers that one router uses.
	MaxConcurrentQueries int
	// MaxOutstandingQueries is how many queries of the org may wait in one router's queue. At least 1.
	MaxOutstandingQueries int
	// QueryWeight is the org's share of the queriers against the weights of others when all are busy. At least 1.
	QueryWeight int

	// RetentionPeriod is the age above which rows are dropped.
	RetentionPeriod time.Duration
}

// Default returns the limits of an org for which nothing is configured.
func Default() Limits {
	return Limits{
		MaxLineSize: mib, MaxLabelNames: 64, RejectOldSamples: true, CreationGracePeriod: 10 * time.Minute, MaxColumns: 1000,
		MaxFetchedSeries: 2_000_000, MaxFetchedSamples: 50_000_000,
		QueryTimeout: time.Minute, MaxQueryParallelism: 32, MaxOutstandingQueries: 100, QueryWeight: 1,
	}
}

// MaxAge returns the age above which rows are refused, 0 when all are taken.
func (l Limits) MaxAge() time.Duration {
	if !l.RejectOldSamples {
		return 0
	}
	return l.RejectOldSamplesMaxAge
}

// Burst returns the size of the org's byte bucket: IngestionBurst, or a second's rate.
func (l Limits) Burst() int64 {
	if l.IngestionBurst > 0 {
		return l.IngestionBurst
	}
	return l.IngestionRate
}

// Smallest returns the limits of a request that is about several orgs: of each limit the smallest that is one, none where no org has it.
func Smallest(first Limits, others ...Limits) Limits {
	for _, d := range Definitions() {
		for i := range others {
			if v := d.get(&others[i]); v > 0 && (d.get(&first) <= 0 || v < d.get(&first)) {
				d.set(&first, v)
			}
		}
	}
	return first
}
