package limits

import (
	"slices"

	"github.com/millstream/millstream/internal/bytesize"
	"github.com/millstream/millstream/internal/fault"
)

// Names of limits, for messages of those who enforce them. The table says all else about them.
const (
	IngestionRateMB         = "ingestion_rate_mb"
	IngestionBurstSizeMB    = "ingestion_burst_size_mb"
	MaxLineSize             = "max_line_size"
	MaxLabelNamesPerSeries  = "max_label_names_per_series"
	MaxLabelNameLength      = "max_label_name_length"
	MaxLabelValueLength     = "max_label_value_length"
	RejectOldSamples        = "reject_old_samples"
	RejectOldSamplesMaxAge  = "reject_old_samples_max_age"
	CreationGracePeriod     = "creation_grace_period"
	MaxGlobalStreamsPerUser = "max_global_streams_per_user"
	MaxColumnsPerStream     = "max_columns_per_stream"
	MaxQueryLength          = "max_query_length"
	MaxQueryLookback        = "max_query_lookback"
	MaxEntriesLimitPerQuery = "max_entries_limit_per_query"
	MaxQueryBytesRead       = "max_query_bytes_read"
	MaxFetchedSeries        = "max_fetched_series_per_query"
	MaxFetchedSamples       = "max_fetched_samples_per_query"
	QueryTimeout            = "query_timeout"
	MaxQueryParallelism     = "max_query_parallelism"
	SplitQueriesByInterval  = "split_queries_by_interval"
	MaxConcurrentQueries    = "max_concurrent_queries"
	MaxOutstandingQueries   = "max_outstanding_queries"
	QueryWeight             = "query_weight"
	RetentionPeriod         = "retention_period"
)

// Reasons with which refused data is counted in millstream_discarded_{rows,bytes}_total. They are Loki's words where Loki has them.
const (
	RateLimited           = "rate_limited"
	LineTooLong           = "line_too_long"
	TooManyLabelNames     = "max_label_names_per_series"
	LabelNameTooLong      = "label_name_too_long"
	LabelValueTooLong     = "label_value_too_long"
	GreaterThanMaxAge     = "greater_than_max_sample_age"
	TooFarInFuture        = "too_far_in_future"
	StreamLimit           = "stream_limit"
	RequestRateLimited    = "request_rate_limited"
	InFlightBytesLimited  = "inflight_bytes"
	BufferMemoryShareUsed = "buffer_memory"
)

// Definition is one limit: everything that is to be known about it but its value.
type Definition struct {
	Name string
	Kind Kind
	Doc  string // what it bounds and what happens above it
	Loki string // Loki's own default as it writes it; "" where Loki has no such limit
	// Refused is the kind of error above the limit, which fixes the HTTP and gRPC status. fault.Internal stands for none: what goes
	// beyond is cut, moved, queued or dropped.
	Refused fault.Kind
	Reason  string // with which refused data is counted; "" where none is refused
	// Least is the smallest value.
	Least int64

	get func(*Limits) int64
	set func(*Limits, int64)
}

// number makes the accessors of a field.
func (d Definition) number(field func(*Limits) *int) Definition {
	d.get = func(l *Limits) int64 { return int64(*field(l)) }
	d.set = func(l *Limits, v int64) { *field(l) = int(v) }
	return d
}

func (d Definition) bytes(field func(*Limits) *int64) Definition {
	d.get = func(l *Limits) int64 { return *field(l) }
	d.set = func(l *Limits, v int64) { *field(l) = v }
	return d
}

// Definitions returns all limits in the order of the reference. The slice is the caller's.
func Definitions() []Definition { return slices.Concat(ofWrites(), ofQueries(), ofStorage()) }

// Find returns the limit of that name.
func Find(name string) (Definition, bool) {
	all := Definitions()
	i := slices.IndexFunc(all, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return all[i], true
}

func ofWrites() []Definition {
	return []Definition{
		Definition{
			Name: IngestionRateMB, Kind: Mebibytes, Loki: "4", Refused: fault.Limited, Reason: RateLimited,
			Doc: "Inflated bytes that the org may write a second, over all nodes together. A refused request costs nothing.",
		}.bytes(func(l *Limits) *int64 { return &l.IngestionRate }),
		Definition{
			Name: IngestionBurstSizeMB, Kind: Mebibytes, Loki: "6", Refused: fault.TooLarge, Reason: RateLimited,
			Doc: "What the org may write at once after a pause, and so the largest request that can pass, at any number of nodes. " +
				"0: as much as a second's rate.",
		}.bytes(func(l *Limits) *int64 { return &l.IngestionBurst }),
		Definition{
			Name: MaxLineSize, Kind: Size, Loki: `"256KB"`, Refused: fault.Invalid, Reason: LineTooLong, Least: bytesize.KiB,
			Doc: "Longest line or record in bytes; a longer one is refused, the rest of its request is not.",
		}.bytes(func(l *Limits) *int64 { return &l.MaxLineSize }),
		Definition{
			Name: MaxLabelNamesPerSeries, Kind: Number, Loki: "15", Refused: fault.Invalid, Reason: TooManyLabelNames,
			Doc: "Labels of a Loki stream or of a metric's series, its name not counted; its rows are refused above it. Under OTLP the " +
				"attributes of resource and scope are labels of the series too.",
		}.number(func(l *Limits) *int { return &l.MaxLabelNames }),
		Definition{
			Name: MaxLabelNameLength, Kind: Number, Loki: "1024", Refused: fault.Invalid, Reason: LabelNameTooLong,
			Doc: "Bytes of a label's name.",
		}.number(func(l *Limits) *int { return &l.MaxLabelNameLength }),
		Definition{
			Name: MaxLabelValueLength, Kind: Number, Loki: "2048", Refused: fault.Invalid, Reason: LabelValueTooLong,
			Doc: "Bytes of a label's value.",
		}.number(func(l *Limits) *int { return &l.MaxLabelValueLength }),
		rejectOldSamples(),
		Definition{
			Name: RejectOldSamplesMaxAge, Kind: Duration, Loki: `"7d"`, Refused: fault.Invalid, Reason: GreaterThanMaxAge,
			Doc: "Rows older than this when they come are refused.",
		}.duration(func(l *Limits) *duration { return &l.RejectOldSamplesMaxAge }),
		Definition{
			Name: CreationGracePeriod, Kind: Duration, Loki: `"10m"`, Refused: fault.Invalid, Reason: TooFarInFuture,
			Doc: "Rows further in the future than this are refused.",
		}.duration(func(l *Limits) *duration { return &l.CreationGracePeriod }),
		Definition{
			Name: MaxGlobalStreamsPerUser, Kind: Number, Loki: "5000", Refused: fault.Limited, Reason: StreamLimit,
			Doc: "Named streams of the org, over all databases and signals; each metric name is one. Rows for a new stream beyond are " +
				"refused, those for streams that exist are not.",
		}.number(func(l *Limits) *int { return &l.MaxGlobalStreams }),
		Definition{
			Name: MaxColumnsPerStream, Kind: Number, Least: 1,
			Doc: "Columns of a stream; fields beyond go to one JSON column.",
		}.number(func(l *Limits) *int { return &l.MaxColumns }),
	}
}

func rejectOldSamples() Definition {
	return Definition{
		Name: RejectOldSamples, Kind: Flag, Loki: "true",
		Doc: "Whether reject_old_samples_max_age counts.",
		get: func(l *Limits) int64 {
			if l.RejectOldSamples {
				return 1
			}
			return 0
		},
		set: func(l *Limits, v int64) { l.RejectOldSamples = v != 0 },
	}
}

func ofQueries() []Definition {
	return []Definition{
		Definition{
			Name: MaxQueryLength, Kind: Duration, Loki: `"721h"`, Refused: fault.Invalid,
			Doc: "Longest time range of a query. A query without a start has the range that max_query_lookback leaves.",
		}.duration(func(l *Limits) *duration { return &l.MaxQueryLength }),
		Definition{
			Name: MaxQueryLookback, Kind: Duration, Loki: `"0"`,
			Doc: "How far back a query sees. An earlier start is moved; a range that lies wholly before it is empty.",
		}.duration(func(l *Limits) *duration { return &l.MaxQueryLookback }),
		Definition{
			Name: MaxEntriesLimitPerQuery, Kind: Number, Loki: "5000", Refused: fault.Invalid,
			Doc: "Most rows that a query which returns stored rows may ask for; it has to name a LIMIT within it.",
		}.number(func(l *Limits) *int { return &l.MaxEntriesLimit }),
		Definition{
			Name: MaxQueryBytesRead, Kind: Size, Loki: `"0"`, Refused: fault.Invalid,
			Doc: "Bytes of data files that a query may read, judged before it reads them.",
		}.bytes(func(l *Limits) *int64 { return &l.MaxQueryBytesRead }),
		Definition{
			Name: MaxFetchedSeries, Kind: Number, Refused: fault.Invalid,
			Doc: "Series that a PromQL query or a remote read may load.",
		}.number(func(l *Limits) *int { return &l.MaxFetchedSeries }),
		Definition{
			Name: MaxFetchedSamples, Kind: Number, Refused: fault.Invalid,
			Doc: "Samples that a PromQL query or a remote read may load.",
		}.number(func(l *Limits) *int { return &l.MaxFetchedSamples }),
		Definition{
			Name: QueryTimeout, Kind: Duration, Loki: `"1m"`, Refused: fault.Deadline,
			Doc: "A query that runs longer ends. querier.timeout_secs holds as well.",
		}.duration(func(l *Limits) *duration { return &l.QueryTimeout }),
		Definition{
			Name: MaxQueryParallelism, Kind: Number, Loki: "32", Least: 1,
			Doc: "Parts of one split query that run at once; the others wait.",
		}.number(func(l *Limits) *int { return &l.MaxQueryParallelism }),
		Definition{
			Name: SplitQueriesByInterval, Kind: Duration, Loki: `"1h"`,
			Doc: "Length of the parts into which a long query is split and run in parallel. 0: queries are not split.",
		}.duration(func(l *Limits) *duration { return &l.SplitQueriesByInterval }),
		Definition{
			Name: MaxConcurrentQueries, Kind: Number,
			Doc: "Queries of the org that a router lets run at once; the others wait.",
		}.number(func(l *Limits) *int { return &l.MaxConcurrentQueries }),
		Definition{
			Name: MaxOutstandingQueries, Kind: Number, Refused: fault.Limited, Least: 1,
			Doc: "Queries of the org that may wait in a router's queue.",
		}.number(func(l *Limits) *int { return &l.MaxOutstandingQueries }),
		Definition{
			Name: QueryWeight, Kind: Number, Least: 1,
			Doc: "The org's share of busy queriers: an org of weight 2 gets twice the share of one of weight 1.",
		}.number(func(l *Limits) *int { return &l.QueryWeight }),
	}
}

func ofStorage() []Definition {
	return []Definition{
		Definition{
			Name: RetentionPeriod, Kind: Duration, Loki: `"0"`,
			Doc: "Rows older than this are hidden at once and dropped. The shortest of all retentions counts.",
		}.duration(func(l *Limits) *duration { return &l.RetentionPeriod }),
	}
}
