package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	err = c.write(ctx, "create database", func(tx *sql.Tx) error {
		if name == signal.DefaultDatabase {
			return fmt.Errorf("%w: %s", catalog.ErrDatabaseExists, name)
		}
		n, err := exec(ctx, tx, sqlDatabaseInsert, org, name, text, c.now())
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: %s", catalog.ErrDatabaseExists, name)
		}
		d, err = c.database(ctx, tx, org, name)
		return err
	})
	return d, err
}

// AlterDatabase implements catalog.Names.
func (c *Catalog) AlterDatabase(
	ctx context.Context, org tenant.ID, name string, options map[string]*string,
) (d catalog.Database, err error) {
	err = c.write(ctx, "alter database", func(tx *sql.Tx) error {
		d, err = c.database(ctx, tx, org, name)
		if err != nil {
			return err
		}
		rules.ApplyOptions(d.Options, options)
		text, err := rules.EncodeOptions(d.Options)
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, sqlDatabaseOptions, d.ID, text)
		return err
	})
	return d, err
}

// DropDatabase implements catalog.Names.
func (c *Catalog) DropDatabase(ctx context.Context, org tenant.ID, name string) error {
	return c.write(ctx, "drop database", func(tx *sql.Tx) error {
		if name == signal.DefaultDatabase {
			return catalog.ErrDefaultDropped
		}
		d, err := c.database(ctx, tx, org, name)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, tx, sqlDatabaseRetire, d.ID, c.now()); err != nil {
			return err
		}
		_, err = exec(ctx, tx, sqlDatabaseDelete, d.ID)
		return err
	})
}

// Databases implements catalog.Names.
func (c *Catalog) Databases(ctx context.Context, org tenant.ID) (out []catalog.Database, err error) {
	err = c.read(ctx, "list databases", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, func(rows *sql.Rows) (catalog.Database, error) { return scanDatabase(rows) }, sqlDatabases, org)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rules.WithDefault(out, org), nil
}

// DatabasesWithOptions implements catalog.Names.
func (c *Catalog) DatabasesWithOptions(ctx context.Context) (out []catalog.Database, err error) {
	err = c.read(ctx, "list databases with options", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, func(rows *sql.Rows) (catalog.Database, error) { return scanDatabase(rows) }, sqlDatabasesWithOptions)
		return err
	})
	return out, err
}

// database returns a database, or ErrNoDatabase. It makes the default one when it is not stored yet.
func (c *Catalog) database(ctx context.Context, tx *sql.Tx, org tenant.ID, name string) (catalog.Database, error) {
	if name == signal.DefaultDatabase {
		if _, err := exec(ctx, tx, sqlDatabaseInsert, org, name, "{}", c.now()); err != nil {
			return catalog.Database{}, err
		}
	}
	d, ok, err := findDatabase(ctx, tx, org, name)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", catalog.ErrNoDatabase, name)
	}
	return d, err
}

// findDatabase returns a database that is stored, or false.
func findDatabase(ctx context.Context, tx *sql.Tx, org tenant.ID, name string) (d catalog.Database, ok bool, err error) {
	d, err = scanDatabase(tx.QueryRowContext(ctx, sqlDatabaseGet, org, name))
	if errors.Is(err, sql.ErrNoRows) {
		return d, false, nil
	}
	return d, err == nil, err
}

func scanDatabase(row interface{ Scan(to ...any) error }) (d catalog.Database, err error) {
	var (
		options string
		created int64
	)
	if err := row.Scan(&d.ID, &d.Org, &d.Name, &options, &created); err != nil {
		return d, err
	}
	d.Created = moment(created)
	d.Options, err = rules.DecodeOptions(options)
	return d, err
}
