package config

import "time"

// Backend is a kind of object store.
type Backend string

// The backends.
const (
	BackendLocal Backend = "local"
	BackendS3    Backend = "s3"
	BackendGCS   Backend = "gcs"
	BackendAzure Backend = "azure"
)

// ObjectStore is where data files live.
type ObjectStore struct {
	Backend            Backend
	Root               string // local: absolute folder; else leading part of all keys
	Bucket             string
	Endpoint           string
	Region             string
	PathStyle          bool
	AccessKey          Secret
	SecretKey          Secret
	MultipartThreshold int64 // bytes
	MultipartPartSize  int64 // bytes
}

func (o *ObjectStore) declare(d *declarer) {
	choice(d, &o.Backend, "backend", []Backend{BackendLocal, BackendS3, BackendGCS, BackendAzure},
		"local: a folder. s3: AWS and whatever speaks its protocol. gcs: Google Cloud Storage. azure: Azure Blob Storage.")
	d.text(&o.Root, "root", "",
		"local: the folder, empty for objects in node.data_dir. Else: leading part of all keys, for installations that share a bucket.")
	d.text(&o.Bucket, "bucket", "", "Bucket, or Azure's container. It must exist.")
	d.text(&o.Endpoint, "endpoint", "",
		"Server as host:port or URL, http:// for one without TLS. Empty: AWS or Azure itself. gcs takes none.")
	d.text(&o.Region, "region", "", "Region of an s3 bucket.")
	d.flag(&o.PathStyle, "path_style", false,
		"Put an s3 bucket into the path of URLs, not into the host name. Most servers other than AWS need it.")
	d.secret(&o.AccessKey, "access_key", "Access key of s3, or name of the account of azure. Without it the cloud's own ways are tried.")
	d.secret(&o.SecretKey, "secret_key", "Secret key of s3, or key of the account of azure.")
	d.size(&o.MultipartThreshold, "multipart_threshold_size", 32*mib, "Objects of this size and more go up to s3 in parts.")
	d.size(&o.MultipartPartSize, "multipart_part_size", 8*mib, "Size of a part, at least 5MiB.")
}

// WALSync says when the log reaches the disk.
type WALSync string

// The ways to sync.
const (
	SyncBatch      WALSync = "batch"
	SyncEveryWrite WALSync = "every_write"
	SyncNone       WALSync = "none"
)

// WAL is the write-ahead log.
type WAL struct {
	Dir           string // absolute
	SegmentSize   int64  // bytes
	Sync          WALSync
	BatchMaxDelay time.Duration
}

func (w *WAL) declare(d *declarer) {
	d.text(&w.Dir, "dir", "", "Folder of the log. Empty: wal in node.data_dir.")
	d.size(&w.SegmentSize, "segment_size", 64*mib, "A file of the log ends at this size.")
	choice(d, &w.Sync, "sync", []WALSync{SyncBatch, SyncEveryWrite, SyncNone},
		"batch: writes wait for each other up to wal.batch_max_delay_ms and share one sync. every_write: one sync each. "+
			"none: no sync; a power cut loses acknowledged rows.")
	d.ticks(&w.BatchMaxDelay, "batch_max_delay_ms", time.Millisecond, 5*time.Millisecond, "Longest wait of a write for company.")
}

// Cache is the store of local copies of remote objects.
type Cache struct {
	Dir     string // absolute
	MaxSize int64  // bytes
	MinFree int64  // bytes
}

func (c *Cache) declare(d *declarer) {
	d.text(&c.Dir, "dir", "", "Folder of the copies. Empty: cache in node.data_dir.")
	d.size(&c.MaxSize, "max_size", 10*gib, "Most bytes of copies. A query that needs more at once is refused.")
	d.size(&c.MinFree, "min_free", gib,
		"Bytes that copies leave free on their disk: old ones make room; a query that still needs more gets 503. 0: not looked at.")
}
