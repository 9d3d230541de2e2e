package catalog

import (
	"context"
	"io"
	"time"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// Catalog is the whole contract. Packages declare the part of it that they need.
type Catalog interface {
	Writers
	Names
	Segments
	Access
	// Ping checks that the engine answers and that the schema is the one this program knows.
	Ping(ctx context.Context) error
	io.Closer
}

// Writers is the part about writer epochs.
type Writers interface {
	// StartWriter draws the next epoch of the store and lists (node, epoch) as a holder of rows. When its error leaves the outcome
	// unknown, an epoch that nobody uses may stay listed: the node finds it in Writers and ends it.
	StartWriter(ctx context.Context, node, address string) (Writer, error)
	// AdoptWriter lists an older (node, epoch) again, with the address of the process that found its WAL. It is idempotent. An epoch
	// that this store has not drawn (its catalog was restored from a backup) raises the counter, so that later ones are greater.
	AdoptWriter(ctx context.Context, node string, epoch int64, address string) error
	// EndWriter takes (node, epoch) off the list: the epoch has ended and nothing of it is unflushed. It is idempotent.
	EndWriter(ctx context.Context, node string, epoch int64) error
	// Writers lists every epoch that may hold unflushed rows, sorted by node and epoch.
	Writers(ctx context.Context) ([]Writer, error)
	// Committed returns the committed sequence of every dataset that (node, epoch) has committed to.
	Committed(ctx context.Context, node string, epoch int64) (map[DatasetID]uint64, error)
}

// Writer is one incarnation of a node that writes.
type Writer struct {
	Node    string
	Epoch   int64  // unique in the store, ascending over time
	Address string // where its buffers are read; empty for a process that only it can read itself
	Started time.Time
}

// Names is the part about databases, streams and columns.
type Names interface {
	// CreateDatabase makes a database; ErrDatabaseExists when there is one of the name. The default database exists in every org.
	CreateDatabase(ctx context.Context, org tenant.ID, name string, options map[string]string) (Database, error)
	// AlterDatabase sets options and removes those whose value is nil. ErrNoDatabase when there is none.
	AlterDatabase(ctx context.Context, org tenant.ID, name string, options map[string]*string) (Database, error)
	// DropDatabase removes the database, its streams, and retires their segments. The default database cannot be dropped.
	DropDatabase(ctx context.Context, org tenant.ID, name string) error
	// Databases lists the databases of an org by name, the default one included. Before anything is stored in the default database
	// its ID is 0 and its Created zero.
	Databases(ctx context.Context, org tenant.ID) ([]Database, error)
	// DatabasesWithOptions lists the databases of every org that have at least one option, sorted by org and name.
	DatabasesWithOptions(ctx context.Context) ([]Database, error)

	// EnsureStreams returns the streams of one org and database in the order asked, making those that do not exist (and their
	// datasets). ErrNoDatabase when the database does not exist, Invalid when the streams are of several.
	EnsureStreams(ctx context.Context, streams []signal.Stream) ([]Stream, error)
	// EnsureStreamsWithin is EnsureStreams for an org that may have limit named streams, over all databases and signals: when those that do
	// not exist would be more, nothing is made and the error is ErrTooManyStreams. Processes that ask at the same moment cannot pass the
	// limit together.
	EnsureStreamsWithin(ctx context.Context, streams []signal.Stream, limit int) ([]Stream, error)
	// Streams lists the streams of an org in all databases, sorted by database, signal and name.
	Streams(ctx context.Context, org tenant.ID) ([]Stream, error)
	// AlterStream sets options of a stream and removes those whose value is nil. ErrNoStream when there is none.
	AlterStream(ctx context.Context, stream signal.Stream, options map[string]*string) (Stream, error)
	// ReserveColumns gives each name that the stream does not know an id and a physical name (Column.Physical), in the order
	// asked, and returns all columns of the stream by id. Types are published later, by Commit; until then a column's Types is empty
	// and DESCRIBE does not show it. Idempotent. ErrNoStream when there is none.
	ReserveColumns(ctx context.Context, stream StreamID, names []string) ([]Column, error)
	// Columns returns all columns of a stream, reserved ones included, by id.
	Columns(ctx context.Context, stream StreamID) ([]Column, error)
}

// Segments is the part about files.
type Segments interface {
	// NextSegments draws n segment numbers; first to first+n-1 belong to the caller.
	NextSegments(ctx context.Context, n int) (first SegmentID, err error)
	// Commit publishes a flush round. One result a dataset, in order; the error is for the round as a whole (nothing happened, or
	// the outcome is unknown: call it again with the same ranges). Invalid and Conflict (a segment number or key in use) never pass.
	Commit(ctx context.Context, c Commit) ([]CommitResult, error)
	// Snapshot returns what a query needs of some datasets, as of one moment.
	Snapshot(ctx context.Context, q SnapshotQuery) (Snapshot, error)
	// Replace retires old and publishes added in one step (compaction). ErrConflict when any of old is not live any more. The new
	// segments carry no sequence; the dataset's committed sequences stay. A repeat of a call that succeeded succeeds without effect
	// unless added is empty, so after an unknown outcome the caller repeats before it drops its files.
	Replace(ctx context.Context, dataset DatasetID, old []SegmentID, added []Segment) error
	// SetIndex gives a live segment the index object key, of size bytes, in the place of old ("": it had none). ErrIndexChanged when the
	// segment is not live any more or has another index. A repeat of a call that succeeded succeeds without effect, so after an
	// unknown outcome the caller repeats before it drops its object.
	SetIndex(ctx context.Context, segment SegmentID, old, key string, size int64) error
	// Expire retires the live segments of a dataset that hold no row at or after before (retention).
	Expire(ctx context.Context, dataset DatasetID, before time.Time) (int, error)
	// Datasets lists the datasets of an org that have live segments; of every org when org is empty.
	Datasets(ctx context.Context, org tenant.ID) ([]Dataset, error)
	// Retired lists up to limit segments retired at or before the time, the oldest first.
	Retired(ctx context.Context, before time.Time, limit int) ([]Segment, error)
	// Forget drops retired segments whose objects are deleted. It is idempotent and never touches a live one.
	Forget(ctx context.Context, ids []SegmentID) error
	// KnownObjects returns which of the object keys belong to a live or retired segment: the sweep of orphans asks before it deletes.
	KnownObjects(ctx context.Context, keys []string) (map[string]bool, error)
}

// Ids are unique in the store and never reused.
type (
	// DatabaseID identifies a database: a later one of the same name has another.
	DatabaseID int64
	// DatasetID identifies a dataset: where streams of one kind are stored.
	DatasetID int64
	// StreamID identifies a stream.
	StreamID int64
	// ColumnID identifies a column within its stream, from 1; it is the Parquet field id.
	ColumnID int32
	// SegmentID is the segment number. Its upper bound is 2^43-1, so that number << 20 | row group fits int64.
	SegmentID int64
)

// Database is a namespace inside an org.
type Database struct {
	ID      DatabaseID
	Org     tenant.ID
	Name    string
	Options map[string]string // such as ingest_rows_rate_limit; never nil
	Created time.Time
}

// Stream is a registered stream.
type Stream struct {
	signal.Stream
	ID       StreamID
	Database DatabaseID // shadows the name, which is Stream.Stream.Database
	Dataset  DatasetID
	Options  map[string]string // such as retention; never nil
	Created  time.Time
}

// Dataset is where streams of one kind are stored: logs and traces one a stream, metrics one a database.
type Dataset struct {
	ID       DatasetID
	Org      tenant.ID
	Database string
	Signal   signal.Signal
	Name     string // the stream's name; empty for metrics
	Version  int64  // raised by every change of its segments or committed sequences
	// Options are the database's, overlaid by the stream's where the dataset is one stream's; never nil.
	Options map[string]string
}

// Column is a field of a stream.
type Column struct {
	ID   ColumnID
	Name string // as the user spells it (after signal's renaming of fields that look like ours)
	// Physical is the name in files and SQL: Name, unless an older column differs from it only in case: then Name__2, Name__3 …
	// NUL and bytes that are not UTF-8 are U+FFFD in it, and a column without a name is _empty.
	Physical string
	Types    signal.TypeSet // of all values published so far, empty while only reserved; Types.Resolve is today's type
}
