package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
)

// SyncMode says when a group counts as durable.
type SyncMode string

// The sync modes of the setting wal.sync.
const (
	// SyncBatch writes and fsyncs records in groups. Default.
	SyncBatch SyncMode = "batch"
	// SyncEveryWrite writes and fsyncs each record on its own.
	SyncEveryWrite SyncMode = "every_write"
	// SyncNone writes groups but leaves fsync to the kernel: an acknowledged record survives the process, not the machine.
	SyncNone SyncMode = "none"
)

// Defaults of Options.
const (
	DefaultSegmentSize     = 64 << 20
	DefaultBatchMaxDelay   = 5 * time.Millisecond
	DefaultGroupMaxBytes   = 4 << 20
	DefaultMaxPendingBytes = 64 << 20
	DefaultReserveSize     = 16 << 20
	DefaultRetryInterval   = time.Second
)

// Options are the settings of a log.
type Options struct {
	// Dir holds the segments, aside/, quarantine/, the reserve and the lock file. Made if missing. Required.
	Dir string
	// Node and Epoch are written into segment headers. Node is at most 255 bytes. Required.
	Node  string
	Epoch int64
	// Sync is the mode. Default SyncBatch.
	Sync SyncMode
	// SegmentSize is where a segment ends, in bytes; a group is never split, so a file may pass it by one group. Default 64 MiB.
	SegmentSize int64
	// BatchMaxDelay bounds how long a record waits for company before its group is written, not counting a group that is being
	// written just then. Default 5 ms.
	BatchMaxDelay time.Duration
	// GroupMaxBytes closes a group early. Default 4 MiB.
	GroupMaxBytes int
	// MaxPendingBytes bounds the memory of groups that are not yet on disk, and so the size of one record. Default 64 MiB.
	MaxPendingBytes int64
	// ReserveSize is kept allocated on disk and given back when the disk is full, so that flushes, deletions and the catalog can go
	// on and free space. Default 16 MiB: the largest flush of one stream (a 32 MiB buffer gives about 8 MiB of Parquet and index)
	// with a catalog transaction beside it. Never more than 1/16 of the file system. Negative: no reserve.
	ReserveSize int64
	// RetryInterval is how often a full disk is looked at again. Default 1 s.
	RetryInterval time.Duration
}

// Deps are the collaborators of a log.
type Deps struct {
	// FS is the file system. Default OS.
	FS FS
	// Clock drives the group timer, the retries and the ages in Stats. Default clock.System.
	Clock clock.Clock
	// Logger may be nil.
	Logger *slog.Logger
	// Registerer takes the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// OnGroup, if set, is told the fate of every LSN, in order and without gaps: first to last inclusive, err nil when they are durable.
	// It runs in the committer before the waiters of these LSNs return; for a failure it also runs before Durable passes them and
	// before Enqueue accepts again. It may call Failed, Durable, Release and Stats, but not Enqueue, Reserve, Wait or Close.
	OnGroup func(first, last LSN, err error)
}

func (o Options) withDefaults() Options {
	if o.Sync == "" {
		o.Sync = SyncBatch
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = DefaultSegmentSize
	}
	if o.BatchMaxDelay == 0 {
		o.BatchMaxDelay = DefaultBatchMaxDelay
	}
	if o.GroupMaxBytes == 0 {
		o.GroupMaxBytes = DefaultGroupMaxBytes
	}
	if o.MaxPendingBytes == 0 {
		o.MaxPendingBytes = DefaultMaxPendingBytes
	}
	if o.ReserveSize == 0 {
		o.ReserveSize = DefaultReserveSize
	}
	if o.RetryInterval == 0 {
		o.RetryInterval = DefaultRetryInterval
	}
	return o
}

// Validate returns every fault of o at once. Zero values stand for their defaults.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("wal: "+format, args...))
		}
	}
	check(o.Dir != "", "the directory is empty")
	check(o.Node != "" && len(o.Node) <= maxNodeLen, "the node id has %d bytes, 1 to %d are allowed", len(o.Node), maxNodeLen)
	switch o.Sync {
	case "", SyncBatch, SyncEveryWrite, SyncNone:
	default:
		check(false, "unknown sync mode %q", o.Sync)
	}
	check(o.SegmentSize >= 0, "negative segment size %d", o.SegmentSize)
	check(o.BatchMaxDelay >= 0, "negative batch delay %s", o.BatchMaxDelay)
	check(o.GroupMaxBytes >= 0, "negative group size %d", o.GroupMaxBytes)
	check(o.MaxPendingBytes >= 0 && o.MaxPendingBytes <= maxPayloadLen, "pending bytes %d not in 0 to %d",
		o.MaxPendingBytes, int64(maxPayloadLen))
	check(o.RetryInterval >= 0, "negative retry interval %s", o.RetryInterval)
	return errors.Join(errs...)
}

func (d Deps) withDefaults() Deps {
	if d.FS == nil {
		d.FS = OS{}
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.OnGroup == nil {
		d.OnGroup = func(LSN, LSN, error) {}
	}
	return d
}
