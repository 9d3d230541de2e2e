package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/millstream/millstream/internal/cluster"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	versionTable = "cluster_version" // goose's list of applied migrations
	// schema is the version that this program knows: the number of its last migration.
	schema = 1
	// lockKey is the advisory lock of migrations: "mill-clu" as bytes.
	lockKey = 0x6d696c6c2d636c75
	// lockWait bounds the wait for another process's migration.
	lockWait = "300s"
)

// migrate brings the tables to this program's version. Processes that start at once take turns: the lock belongs to a session of
// its own, so it ends with this process whatever happens.
func migrate(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) (err error) {
	config = config.Copy()
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["lock_timeout"] = lockWait
	session, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close(context.WithoutCancel(ctx))) }()
	if _, err := session.Exec(ctx, sqlMigrationLock, int64(lockKey)); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("open the migrations: %w", err)
	}
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(database.DialectPostgres, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
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
		log.InfoContext(ctx, "cluster schema migrated", "version", m.Source.Version, "duration", m.Duration)
	}
	return nil
}

func checkVersion(version int64) error {
	if version == schema {
		return nil
	}
	return fmt.Errorf("%w: it is of version %d, this program knows version %d", cluster.ErrSchema, version, schema)
}
