package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// CreateDatabase implements catalog.Names.
func (c *Catalog) CreateDatabase(
	ctx context.Context, org tenant.ID, name string, options map[string]string,
) (d catalog.Database, err error) {
	if err := rules.CheckText("database", name); err != nil {
		return d, err
	}
	text, err := rules.EncodeOptions(options)
	if err != nil {
		return d, err
	}
	err = c.write(ctx, "create database", func(ctx context.Context, db conn) error {
		if name == signal.DefaultDatabase {
			return fmt.Errorf("%w: %s", catalog.ErrDatabaseExists, name)
		}
		n, err := exec(ctx, db, sqlDatabaseInsert, org, name, text)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: %s", catalog.ErrDatabaseExists, name)
		}
		d, err = lockDatabase(ctx, db, org, name)
		return err
	})
	return d, err
}

// AlterDatabase implements catalog.Names.
func (c *Catalog) AlterDatabase(
	ctx context.Context, org tenant.ID, name string, options map[string]*string,
) (d catalog.Database, err error) {
	err = c.write(ctx, "alter database", func(ctx context.Context, db conn) error {
		d, err = lockDatabase(ctx, db, org, name)
		if err != nil {
			return err
		}
		rules.ApplyOptions(d.Options, options)
		text, err := rules.EncodeOptions(d.Options)
		if err != nil {
			return err
		}
		_, err = exec(ctx, db, sqlDatabaseOptions, d.ID, text)
		return err
	})
	return d, err
}

// DropDatabase implements catalog.Names.
func (c *Catalog) DropDatabase(ctx context.Context, org tenant.ID, name string) error {
	return c.write(ctx, "drop database", func(ctx context.Context, db conn) error {
		if name == signal.DefaultDatabase {
			return catalog.ErrDefaultDropped
		}
		d, err := lockDatabase(ctx, db, org, name)
		if err != nil {
			return err
		}
		for _, statement := range []string{sqlDatabaseDatasets, sqlDatabaseRetire, sqlDatabaseDelete} {
			if _, err := exec(ctx, db, statement, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Databases implements catalog.Names.
func (c *Catalog) Databases(ctx context.Context, org tenant.ID) (out []catalog.Database, err error) {
	err = c.read(ctx, "list databases", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, scanDatabase, sqlDatabases, org)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rules.WithDefault(out, org), nil
}

// DatabasesWithOptions implements catalog.Names.
func (c *Catalog) DatabasesWithOptions(ctx context.Context) (out []catalog.Database, err error) {
	err = c.read(ctx, "list databases with options", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, scanDatabase, sqlDatabasesWithOptions)
		return err
	})
	return out, err
}

// lockDatabase locks and returns a database, or ErrNoDatabase. It makes the default one when it is not stored yet.
func lockDatabase(ctx context.Context, db conn, org tenant.ID, name string) (catalog.Database, error) {
	if name == signal.DefaultDatabase {
		if _, err := exec(ctx, db, sqlDatabaseInsert, org, name, "{}"); err != nil {
			return catalog.Database{}, err
		}
	}
	rows, err := db.Query(ctx, sqlDatabaseLock, org, name)
	if err != nil {
		return catalog.Database{}, err
	}
	d, err := pgx.CollectOneRow(rows, scanDatabase)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: %s", catalog.ErrNoDatabase, name)
	}
	return d, err
}

func scanDatabase(row pgx.CollectableRow) (d catalog.Database, err error) {
	var options string
	if err := row.Scan(&d.ID, &d.Org, &d.Name, &options, &d.Created); err != nil {
		return d, err
	}
	d.Created = d.Created.UTC()
	d.Options, err = rules.DecodeOptions(options)
	return d, err
}
