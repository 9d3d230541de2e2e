package config

import "time"

// Intake is how rows are taken.
type Intake struct {
	FlushInterval   time.Duration
	BufferMaxSize   int64 // bytes of one stream
	BufferMemoryMax int64 // bytes of all streams
	MaxBodySize     int64 // bytes, inflated
	InFlightMax     int64 // bytes of all bodies that are being read
}

func (i *Intake) declare(d *declarer) {
	d.ticks(&i.FlushInterval, "flush_interval_secs", time.Second, 30*time.Second, "Rows become a file after so long at the latest.")
	d.size(&i.BufferMaxSize, "buffer_max_size", 32*mib, "A stream's rows become a file when they take so much memory.")
	d.size(&i.BufferMemoryMax, "buffer_memory_max", 128*mib, "Memory of all rows that are not in files yet. Writes wait at it, then get 503.")
	d.size(&i.MaxBodySize, "max_body_size", 64*mib,
		"Largest inflated body of a request that is decoded as a whole (all but JSON lines). Larger: 413. OTLP/gRPC messages: half.")
	d.size(&i.InFlightMax, "inflight_memory_max", 128*mib,
		"Memory of all request bodies that are being read and decoded. An org gets at most three times of what is left free, beyond: 503.")
}

// Querier is how queries are answered.
type Querier struct {
	Concurrency   int           // queries at once
	MemoryLimit   int64         // bytes of all running queries
	Timeout       time.Duration // of one query
	MaxScanRows   int64         // 0 = no limit
	WarmInstances int           // idle engine instances
	BufferTimeout time.Duration // for one writer's fresh rows
	TempMaxSize   int64         // bytes of spilled data of all running queries
	MetricsCache  int64         // bytes of decoded series and samples; 0 = none
}

func (q *Querier) declare(d *declarer) {
	count(d, &q.Concurrency, "concurrency", 0, "Queries that run at once; the others wait. 0: the number of cores, at least 2.")
	d.size(&q.MemoryLimit, "memory_limit", 0,
		"Memory of the SQL engine for all running queries, divided evenly. 0: a quarter of the machine or container.")
	d.ticks(&q.Timeout, "timeout_secs", time.Second, time.Minute, "A query that runs longer ends with 504.")
	count(d, &q.MaxScanRows, "max_scan_rows", 0, "A query that would read more rows is refused. 0: no limit.")
	count(d, &q.WarmInstances, "warm_instances", 16, "Idle engine instances that are kept, about 3 MB each.")
	d.ticks(&q.BufferTimeout, "buffer_timeout_ms", time.Millisecond, time.Second,
		"A writer that does not give its fresh rows within so long is named in the answer's warnings.")
	d.size(&q.TempMaxSize, "temp_max_size", 10*gib, "Disk that running queries may spill to, below node.data_dir. 0: none.")
	d.size(&q.MetricsCache, "metrics_cache_size", 128*mib,
		"Memory of series and samples that PromQL queries have decoded, kept for the next ones, 18 bytes or so a sample. 0: none.")
}

// Routing is how requests are handed to other nodes.
type Routing struct {
	ForwardTimeout time.Duration // for the answer of an intake node to one batch
	ForwardBytes   int64         // of batches on their way to intake nodes

	IntakeQPS       int64 // write requests of an org a second; 0 = no limit
	QueryQPS        int64 // queries of an org a second; 0 = no limit
	BurstMultiplier int64 // seconds' worth of requests that may come at once
}

func (r *Routing) declare(d *declarer) {
	d.ticks(&r.ForwardTimeout, "forward_timeout_ms", time.Millisecond, 5*time.Second,
		"An intake node that does not answer a batch within so long is asked once more; then the client gets 503 \"outcome unknown\".")
	d.size(&r.ForwardBytes, "forward_memory_max", 128*mib,
		"Memory of the batches on their way to intake nodes. Writes wait at it, then get 503.")
	count(d, &r.IntakeQPS, "rate_limit.intake_qps", 1000,
		"Write requests that an org may send a second to one router, under every protocol. Above: 429. 0: no limit. Not on standalone.")
	count(d, &r.QueryQPS, "rate_limit.query_qps", 100, "Queries that an org may send a second to one router. Above: 429. 0: no limit.")
	count(d, &r.BurstMultiplier, "rate_limit.burst_multiplier", 2, "Seconds' worth of requests that may come at once after a pause.")
}

// Compactor is how files are kept in order.
type Compactor struct {
	Interval            time.Duration
	TargetSize          int64 // bytes
	MaxConcurrentGroups int
	MemoryLimit         int64         // bytes of all running merges
	Retention           time.Duration // 0 = keep
	DeletionGrace       time.Duration
}

func (c *Compactor) declare(d *declarer) {
	d.ticks(&c.Interval, "interval_secs", time.Second, time.Minute, "How often files are looked over.")
	d.size(&c.TargetSize, "target_size", 256*mib, "Files are merged up to this size.")
	count(d, &c.MaxConcurrentGroups, "max_concurrent_groups", 4, "Merges of different streams that run at once on this node.")
	d.size(&c.MemoryLimit, "memory_limit", 256*mib,
		"Memory of all running merges. A merge that needs more takes fewer files at once; two files are merged even above it.")
	d.ticks(&c.Retention, "retention_days", day, 0,
		"Rows older than so many days are dropped. 0: kept. The shortest of all retentions counts.")
	d.ticks(&c.DeletionGrace, "deletion_grace_secs", time.Second, time.Hour,
		"Objects that nothing refers to are deleted after so long. Longer than the longest query.")
}

// Overrides is where limits of single orgs stand.
type Overrides struct {
	File   string // absolute path; empty: there are none
	Period time.Duration
}

func (o *Overrides) declare(d *declarer) {
	d.text(&o.File, "file", "", "YAML file with limits of single orgs, in Loki's form. A change is in force within a second. Empty: none.")
	d.ticks(&o.Period, "period_secs", time.Second, 10*time.Second, "How often the file is looked at where the system tells no changes.")
}
