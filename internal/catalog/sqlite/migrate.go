package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/millstream/millstream/internal/catalog"
)

//go:embed migrations/*.sql
var migrations embed.FS

const versionTable = "catalog_version" // goose's list of applied migrations

// schema is the version that this program knows: the number of its last migration.
const schema = 2

// migrate brings the tables to this program's version. Processes that start at once take turns.
func migrate(ctx context.Context, db *sql.DB, path string, log *slog.Logger) (err error) {
	unlock, err := lockMigrations(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("open the migrations: %w", err)
	}
	p, err := goose.NewProvider(database.DialectSQLite3, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if version > schema {
		return checkVersion(version)
	}
	applied, err := p.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	for _, m := range applied {
		log.InfoContext(ctx, "catalog schema migrated", "version", m.Source.Version, "duration", m.Duration)
	}
	return nil
}

// lockMigrations takes a lock that other processes see and that ends with this one: goose reads the version and migrates in several
// transactions, so the lock cannot be one of the catalog's own. It is the write lock of an empty database beside it.
func lockMigrations(ctx context.Context, path string) (unlock func() error, err error) {
	db, err := connect(path+".lock", 1, "_txlock", "exclusive")
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the schema: %w", err), db.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), db.Close()) }, nil
}

func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	err = db.QueryRowContext(ctx, sqlSchemaVersion).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return version, nil
}

func checkVersion(version int64) error {
	if version == schema {
		return nil
	}
	return fmt.Errorf("%w: it is of version %d, this program knows version %d", catalog.ErrSchema, version, schema)
}
