package pgtables

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// lockWait bounds the wait for another process's migration.
const lockWait = "300s"

// Schema is the tables of one owner.
type Schema struct {
	Name         string // in logs
	Migrations   fs.FS  // goose's files, at the root
	Version      int64  // that this program knows: the number of its last migration
	VersionTable string // goose's list of applied migrations
	LockKey      int64  // the advisory lock of migrations
	Newer        error  // wrapped when the tables are of another version than the program can work with
}

// Migrate brings the tables to this program's version. Processes that start at once take turns: the lock belongs to a session of
// its own, so it ends with this process whatever happens.
func (s Schema) Migrate(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) (err error) {
	config = config.Copy()
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["lock_timeout"] = lockWait
	session, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close(context.WithoutCancel(ctx))) }()
	if _, err := session.Exec(ctx, "SELECT pg_advisory_lock($1)", s.LockKey); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(database.DialectPostgres, db, s.Migrations,
		goose.WithTableName(s.VersionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if version > s.Version {
		return s.Check(version)
	}
	applied, err := p.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	for _, m := range applied {
		log.InfoContext(ctx, "schema migrated", "schema", s.Name, "version", m.Source.Version, "duration", m.Duration)
	}
	return nil
}

// Check returns an error that wraps Newer unless the tables' version is this program's.
func (s Schema) Check(version int64) error {
	if version == s.Version {
		return nil
	}
	return fmt.Errorf("%w: it is of version %d, this program knows version %d", s.Newer, version, s.Version)
}
