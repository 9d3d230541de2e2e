package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// EnsureStreams implements catalog.Names. Streams that exist are found without the write lock.
func (c *Catalog) EnsureStreams(ctx context.Context, streams []signal.Stream) ([]catalog.Stream, error) {
	return c.ensure(ctx, streams, c.register)
}

// EnsureStreamsWithin implements catalog.Names.
func (c *Catalog) EnsureStreamsWithin(ctx context.Context, streams []signal.Stream, limit int) ([]catalog.Stream, error) {
	return c.ensure(ctx, streams, func(ctx context.Context, tx *sql.Tx, wanted []signal.Stream) (map[signal.Stream]catalog.Stream, error) {
		found, err := c.register(ctx, tx, wanted)
		if err != nil {
			return nil, err
		}
		var has int
		if err := tx.QueryRowContext(ctx, sqlStreamsCount, wanted[0].Org).Scan(&has); err != nil {
			return nil, err
		}
		if has > limit {
			return nil, catalog.ErrTooManyStreams // which takes back what was made
		}
		return found, nil
	})
}

// ensure finds streams, and registers them when one is missing.
func (c *Catalog) ensure(
	ctx context.Context, streams []signal.Stream,
	register func(context.Context, *sql.Tx, []signal.Stream) (map[signal.Stream]catalog.Stream, error),
) ([]catalog.Stream, error) {
	if len(streams) == 0 {
		return nil, nil
	}
	if err := rules.CheckStreams(streams); err != nil {
		return nil, err
	}
	wanted := rules.Dedup(streams)
	var found map[signal.Stream]catalog.Stream
	err := c.read(ctx, "find streams", func(tx *sql.Tx) error {
		d, ok, err := findDatabase(ctx, tx, wanted[0].Org, wanted[0].Database)
		if err != nil || !ok {
			return err
		}
		found, err = namedStreams(ctx, tx, d, wanted)
		return err
	})
	if err == nil && len(found) < len(wanted) {
		err = c.write(ctx, "register streams", func(tx *sql.Tx) (err error) {
			found, err = register(ctx, tx, wanted)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return rules.InOrder(streams, found), nil
}

func (c *Catalog) register(ctx context.Context, tx *sql.Tx, streams []signal.Stream) (map[signal.Stream]catalog.Stream, error) {
	d, err := c.database(ctx, tx, streams[0].Org, streams[0].Database)
	if err != nil {
		return nil, err
	}
	for _, s := range streams {
		dataset := rules.DatasetName(s.Signal, s.Name)
		if _, err := exec(ctx, tx, sqlDatasetInsert, d.ID, d.Org, s.Signal, dataset); err != nil {
			return nil, err
		}
		if _, err := exec(ctx, tx, sqlStreamInsert, d.ID, s.Signal, dataset, s.Name, c.now()); err != nil {
			return nil, err
		}
	}
	return namedStreams(ctx, tx, d, streams)
}

// namedStreams returns those of the streams that the database has.
func namedStreams(
	ctx context.Context, tx *sql.Tx, d catalog.Database, streams []signal.Stream,
) (map[signal.Stream]catalog.Stream, error) {
	keys := make([][2]any, len(streams))
	for i, s := range streams {
		keys[i] = [2]any{s.Signal, s.Name}
	}
	wanted, err := array(keys)
	if err != nil {
		return nil, err
	}
	found := make(map[signal.Stream]catalog.Stream, len(streams))
	_, err = query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
		s, err := scanStream(rows, d.Org)
		s.Stream.Database = d.Name
		found[s.Stream] = s
		return struct{}{}, err
	}, sqlStreamsNamed, d.ID, wanted)
	return found, err
}

// scanStream reads a stream; more takes the columns that follow.
func scanStream(rows *sql.Rows, org tenant.ID, more ...any) (s catalog.Stream, err error) {
	var (
		options string
		created int64
	)
	s.Org = org
	err = rows.Scan(append([]any{&s.ID, &s.Database, &s.Dataset, &s.Signal, &s.Name, &options, &created}, more...)...)
	if err != nil {
		return s, err
	}
	s.Created = moment(created)
	s.Options, err = rules.DecodeOptions(options)
	return s, err
}

// Streams implements catalog.Names.
func (c *Catalog) Streams(ctx context.Context, org tenant.ID) (out []catalog.Stream, err error) {
	err = c.read(ctx, "list streams", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, func(rows *sql.Rows) (catalog.Stream, error) {
			var database string
			s, err := scanStream(rows, org, &database)
			s.Stream.Database = database
			return s, err
		}, sqlStreams, org)
		return err
	})
	return out, err
}

// AlterStream implements catalog.Names.
func (c *Catalog) AlterStream(ctx context.Context, stream signal.Stream, options map[string]*string) (s catalog.Stream, err error) {
	err = c.write(ctx, "alter stream", func(tx *sql.Tx) error {
		d, ok, err := findDatabase(ctx, tx, stream.Org, stream.Database)
		if err != nil {
			return err
		}
		if ok {
			found, err := namedStreams(ctx, tx, d, []signal.Stream{stream})
			if err != nil {
				return err
			}
			s, ok = found[stream]
		}
		if !ok {
			return fmt.Errorf("%w: %s", catalog.ErrNoStream, stream)
		}
		rules.ApplyOptions(s.Options, options)
		text, err := rules.EncodeOptions(s.Options)
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, sqlStreamOptions, s.ID, text)
		return err
	})
	return s, err
}

// ReserveColumns implements catalog.Names. Columns that exist are found without the write lock.
func (c *Catalog) ReserveColumns(ctx context.Context, stream catalog.StreamID, names []string) ([]catalog.Column, error) {
	columns, err := c.Columns(ctx, stream)
	if err != nil || (len(columns) > 0 && len(rules.NewColumns(columns, names)) == 0) {
		return columns, err
	}
	err = c.write(ctx, "reserve columns", func(tx *sql.Tx) error {
		var exists bool
		if err := tx.QueryRowContext(ctx, sqlStreamExists, stream).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			return fmt.Errorf("%w: id %d", catalog.ErrNoStream, stream)
		}
		columns, err = query(ctx, tx, scanColumn, sqlColumns, stream)
		if err != nil {
			return err
		}
		added := rules.NewColumns(columns, names)
		for _, col := range added {
			if _, err := exec(ctx, tx, sqlColumnInsert, stream, col.ID, []byte(col.Name), col.Physical); err != nil {
				return err
			}
		}
		columns = append(columns, added...)
		return nil
	})
	return columns, err
}

// Columns implements catalog.Names.
func (c *Catalog) Columns(ctx context.Context, stream catalog.StreamID) (out []catalog.Column, err error) {
	err = c.read(ctx, "list columns", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, scanColumn, sqlColumns, stream)
		return err
	})
	return out, err
}

func scanColumn(rows *sql.Rows) (col catalog.Column, err error) {
	var name []byte
	err = rows.Scan(&col.ID, &name, &col.Physical, &col.Types)
	col.Name = string(name)
	return col, err
}
