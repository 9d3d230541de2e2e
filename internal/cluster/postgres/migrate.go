package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/pgtables"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the version that this program knows: the number of its last migration.
	schemaVersion = 2
	// lockKey is the advisory lock of migrations: "mill-clu" as bytes.
	lockKey = 0x6d696c6c2d636c75
)

// schema returns the tables of the cluster.
func schema() pgtables.Schema {
	return pgtables.Schema{
		Name: "cluster", Version: schemaVersion, VersionTable: "cluster_version", LockKey: lockKey, Newer: cluster.ErrSchema,
	}
}

func migrate(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) error {
	s := schema()
	var err error
	if s.Migrations, err = fs.Sub(migrations, "migrations"); err != nil {
		return fmt.Errorf("open the migrations: %w", err)
	}
	return s.Migrate(ctx, config, log)
}
