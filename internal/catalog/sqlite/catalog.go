package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
)

const (
	busyTimeout = 10 * time.Second       // wait for another process's write lock
	readers     = 4                      // connections that read
	slow        = 500 * time.Millisecond // an operation that takes longer is logged
)

// Options says where the catalog is.
type Options struct {
	Path   string       // the file, made when there is none; its folder exists
	Clock  clock.Clock  // nil: the system's
	Logger *slog.Logger // nil: discard
}

// Catalog implements catalog.Catalog.
type Catalog struct {
	writer *sql.DB // one connection
	reader *sql.DB
	clock  clock.Clock
	log    *slog.Logger
}

var _ catalog.Catalog = (*Catalog)(nil)

// Open opens the catalog and brings its tables to this program's version. It returns catalog.ErrSchema when they are of a newer
// one. The caller closes the catalog.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	c := &Catalog{clock: o.Clock, log: o.Logger}
	if c.clock == nil {
		c.clock = clock.System{}
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.open(ctx, o.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("open catalog %s: %w", o.Path, asFault(ctx, err)), c.Close())
	}
	return c, nil
}

func (c *Catalog) open(ctx context.Context, path string) (err error) {
	if c.writer, err = connect(path, 1, "_txlock", "immediate"); err != nil {
		return err
	}
	if c.reader, err = connect(path, readers, "_pragma", "query_only(1)"); err != nil {
		return err
	}
	if err := migrate(ctx, c.writer, path, c.log); err != nil {
		return err
	}
	return c.ping(ctx)
}

// connect returns a pool of up to n connections with one more parameter of the driver.
func connect(path string, n int, key, value string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the file: %w", err)
	}
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
	}}
	q.Add(key, value)
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// Close closes the file. Methods called later fail.
func (c *Catalog) Close() error {
	var errs []error
	for _, db := range []*sql.DB{c.reader, c.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Ping implements catalog.Catalog.
func (c *Catalog) Ping(ctx context.Context) error {
	return c.observe(ctx, "ping", func() error { return c.ping(ctx) })
}

func (c *Catalog) ping(ctx context.Context) error {
	version, err := schemaVersion(ctx, c.reader)
	if err != nil {
		return err
	}
	return checkVersion(version)
}

// write runs do in a transaction that holds the write lock from its begin.
func (c *Catalog) write(ctx context.Context, operation string, do func(tx *sql.Tx) error) error {
	return c.observe(ctx, operation, func() error { return inTx(ctx, c.writer, nil, do) })
}

// read runs do in a transaction that sees the file as of one moment.
func (c *Catalog) read(ctx context.Context, operation string, do func(tx *sql.Tx) error) error {
	return c.observe(ctx, operation, func() error { return inTx(ctx, c.reader, &sql.TxOptions{ReadOnly: true}, do) })
}

func inTx(ctx context.Context, db *sql.DB, o *sql.TxOptions, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		if back := tx.Rollback(); back != nil && !errors.Is(back, sql.ErrTxDone) {
			return errors.Join(err, back)
		}
		return err
	}
	return tx.Commit()
}

// observe runs an operation, gives its error a kind and logs it when it was slow or the engine failed it.
func (c *Catalog) observe(ctx context.Context, operation string, run func() error) error {
	start := c.clock.Now()
	err := run()
	took := c.clock.Now().Sub(start)
	if err == nil {
		if took > slow {
			c.log.WarnContext(ctx, "slow catalog operation", "operation", operation, "duration", took)
		}
		return nil
	}
	err = fmt.Errorf("catalog %s: %w", operation, asFault(ctx, err))
	switch fault.KindOf(err) {
	case fault.Internal, fault.Unavailable, fault.Corrupt:
		c.log.WarnContext(ctx, "catalog operation failed", "operation", operation, "duration", took, "error", err)
	default:
	}
	return err
}

func (c *Catalog) now() int64 { return c.clock.Now().UnixMicro() }
