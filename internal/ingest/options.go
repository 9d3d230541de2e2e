package ingest

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
)

// Defaults of Options (decisions F).
const (
	DefaultFlushInterval   = 30 * time.Second
	DefaultBufferMaxSize   = 32 << 20
	DefaultBufferMemoryMax = 128 << 20
	DefaultListedFor       = 2 * time.Second
	DefaultMaxColumns      = 1000
)

// Options are the settings of the component.
type Options struct {
	// Node is the node's id; Address is where other nodes read its buffers, empty on a standalone node.
	Node    string
	Address string
	// ListedFor is how long readers may go on with a list of holders that they have read: before the first append of a node that has
	// an Address, its epoch has stood in the catalog for so long. Default 2 s.
	ListedFor time.Duration
	// StagingDir takes files between their writing and their upload. It lies on the file system of a local object store, so that
	// the upload is a rename.
	StagingDir string
	// FlushInterval bounds how long a row stays in a buffer alone. Default 30 s.
	FlushInterval time.Duration
	// BufferMaxSize is the Arrow bytes of one dataset that start a flush of it. Default 32 MiB.
	BufferMaxSize int64
	// BufferMemoryMax bounds the Arrow bytes of all buffers: writes wait, then are refused, above it. Default 128 MiB.
	BufferMemoryMax int64
	// MaxColumns returns how many columns a stream of an org may have; fields beyond go to signal.OverflowColumn. Nil: DefaultMaxColumns.
	MaxColumns func(tenant.ID) int
	// MaxStreams returns how many named streams an org may have, 0 = no limit. Nil: no limit.
	MaxStreams func(tenant.ID) int
	// RowGroupRows is the rows of a row group in segments. 0 leaves the choice to columnar.
	RowGroupRows int
	// WAL are the settings of the log; Node and Epoch are set by the component.
	WAL wal.Options
}

func (o Options) withDefaults() Options {
	if o.FlushInterval <= 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if o.BufferMaxSize <= 0 {
		o.BufferMaxSize = DefaultBufferMaxSize
	}
	if o.BufferMemoryMax <= 0 {
		o.BufferMemoryMax = DefaultBufferMemoryMax
	}
	if o.ListedFor <= 0 {
		o.ListedFor = DefaultListedFor
	}
	if o.MaxStreams == nil {
		o.MaxStreams = func(tenant.ID) int { return 0 }
	}
	if o.MaxColumns == nil {
		o.MaxColumns = func(tenant.ID) int { return DefaultMaxColumns }
	}
	return o
}

// Catalog is what the component needs of the catalog.
type Catalog interface {
	catalog.Writers
	EnsureStreams(ctx context.Context, streams []signal.Stream) ([]catalog.Stream, error)
	EnsureStreamsWithin(ctx context.Context, streams []signal.Stream, limit int) ([]catalog.Stream, error)
	Streams(ctx context.Context, org tenant.ID) ([]catalog.Stream, error)
	ReserveColumns(ctx context.Context, stream catalog.StreamID, names []string) ([]catalog.Column, error)
	Columns(ctx context.Context, stream catalog.StreamID) ([]catalog.Column, error)
	NextSegments(ctx context.Context, n int) (catalog.SegmentID, error)
	Commit(ctx context.Context, c catalog.Commit) ([]catalog.CommitResult, error)
}

// Objects is what the component needs of the object store.
type Objects interface {
	// PutFile stores the file at path durably under key. The caller removes the file.
	PutFile(ctx context.Context, key, path string) error
	// Put stores size bytes of r durably under key.
	Put(ctx context.Context, key string, r io.ReaderAt, size int64) error
	// Delete removes an object; a missing one is no error.
	Delete(ctx context.Context, key string) error
}

// Deps are the collaborators.
type Deps struct {
	Catalog    Catalog
	Objects    Objects
	FS         wal.FS                // nil: the operating system's
	Clock      clock.Clock           // nil: clock.System
	Logger     *slog.Logger          // nil: discard
	Registerer prometheus.Registerer // nil: metrics are kept unregistered
}

func (d Deps) withDefaults() Deps {
	if d.FS == nil {
		d.FS = wal.OS{}
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}
