package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/pgtables"
	"github.com/millstream/millstream/internal/quota/share"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the version that this program knows: the number of its last migration.
	schemaVersion = 1
	// lockKey is the advisory lock of migrations: "mill-quo" as bytes.
	lockKey = 0x6d696c6c2d71756f
)

func migrate(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) error {
	s := pgtables.Schema{
		Name: "quota", Version: schemaVersion, VersionTable: "quota_version", LockKey: lockKey, Newer: share.ErrSchema,
	}
	var err error
	if s.Migrations, err = fs.Sub(migrations, "migrations"); err != nil {
		return fmt.Errorf("open the migrations: %w", err)
	}
	return s.Migrate(ctx, config, log)
}
