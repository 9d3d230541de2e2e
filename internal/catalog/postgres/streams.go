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

// EnsureStreams implements catalog.Names. Streams that exist are found by one statement without a lock.
func (c *Catalog) EnsureStreams(ctx context.Context, streams []signal.Stream) ([]catalog.Stream, error) {
	return c.ensure(ctx, streams, register)
}

// streamsLock tells the locks of orgs that register streams from other advisory locks.
const streamsLock = 0x7374726d

// EnsureStreamsWithin implements catalog.Names. One registration of an org at a time counts and makes; what exists is found before, without
// waiting.
func (c *Catalog) EnsureStreamsWithin(ctx context.Context, streams []signal.Stream, limit int) ([]catalog.Stream, error) {
	return c.ensure(ctx, streams, func(ctx context.Context, db conn, wanted []signal.Stream) (map[signal.Stream]catalog.Stream, error) {
		org := wanted[0].Org
		if _, err := exec(ctx, db, sqlStreamsLock, streamsLock, org); err != nil {
			return nil, err
		}
		found, err := register(ctx, db, wanted)
		if err != nil {
			return nil, err
		}
		var has int
		if err := db.QueryRow(ctx, sqlStreamsCount, org).Scan(&has); err != nil {
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
	register func(context.Context, conn, []signal.Stream) (map[signal.Stream]catalog.Stream, error),
) ([]catalog.Stream, error) {
	if len(streams) == 0 {
		return nil, nil
	}
	if err := rules.CheckStreams(streams); err != nil {
		return nil, err
	}
	wanted := rules.Dedup(streams)
	var found map[signal.Stream]catalog.Stream
	err := c.read(ctx, "find streams", func(ctx context.Context, db conn) (err error) {
		found, err = namedStreams(ctx, db, wanted)
		return err
	})
	if err == nil && len(found) < len(wanted) {
		err = c.write(ctx, "register streams", func(ctx context.Context, db conn) (err error) {
			found, err = register(ctx, db, wanted)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return rules.InOrder(streams, found), nil
}

func register(ctx context.Context, db conn, streams []signal.Stream) (map[signal.Stream]catalog.Stream, error) {
	d, err := lockDatabase(ctx, db, streams[0].Org, streams[0].Database)
	if err != nil {
		return nil, err
	}
	signals, names := keys(streams)
	datasets := make([]string, len(streams))
	for i, s := range streams {
		datasets[i] = rules.DatasetName(s.Signal, s.Name)
	}
	if _, err := exec(ctx, db, sqlDatasetsInsert, d.ID, d.Org, signals, datasets); err != nil {
		return nil, err
	}
	if _, err := exec(ctx, db, sqlStreamsInsert, d.ID, signals, names, datasets); err != nil {
		return nil, err
	}
	return namedStreams(ctx, db, streams)
}

// namedStreams returns those of the streams, all of one database, that exist.
func namedStreams(ctx context.Context, db conn, streams []signal.Stream) (map[signal.Stream]catalog.Stream, error) {
	signals, names := keys(streams)
	found := make(map[signal.Stream]catalog.Stream, len(streams))
	err := each(ctx, db, func(row pgx.CollectableRow) error {
		s, err := scanStream(row, streams[0].Org)
		found[s.Stream] = s
		return err
	}, sqlStreamsNamed, streams[0].Org, streams[0].Database, signals, names)
	return found, err
}

func keys(streams []signal.Stream) (signals []int16, names []string) {
	signals, names = make([]int16, len(streams)), make([]string, len(streams))
	for i, s := range streams {
		signals[i], names[i] = int16(s.Signal), s.Name
	}
	return signals, names
}

func scanStream(row pgx.CollectableRow, org tenant.ID) (s catalog.Stream, err error) {
	var options string
	s.Org = org
	err = row.Scan(&s.ID, &s.Database, &s.Dataset, &s.Signal, &s.Name, &options, &s.Created, &s.Stream.Database)
	if err != nil {
		return s, err
	}
	s.Created = s.Created.UTC()
	s.Options, err = rules.DecodeOptions(options)
	return s, err
}

// Streams implements catalog.Names.
func (c *Catalog) Streams(ctx context.Context, org tenant.ID) (out []catalog.Stream, err error) {
	err = c.read(ctx, "list streams", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, func(row pgx.CollectableRow) (catalog.Stream, error) { return scanStream(row, org) }, sqlStreams, org)
		return err
	})
	return out, err
}

// AlterStream implements catalog.Names.
func (c *Catalog) AlterStream(ctx context.Context, stream signal.Stream, options map[string]*string) (s catalog.Stream, err error) {
	err = c.write(ctx, "alter stream", func(ctx context.Context, db conn) error {
		rows, err := db.Query(ctx, sqlStreamLock, stream.Org, stream.Database, stream.Signal, stream.Name)
		if err != nil {
			return err
		}
		s, err = pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (catalog.Stream, error) { return scanStream(row, stream.Org) })
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: %s", catalog.ErrNoStream, stream)
		}
		if err != nil {
			return err
		}
		rules.ApplyOptions(s.Options, options)
		text, err := rules.EncodeOptions(s.Options)
		if err != nil {
			return err
		}
		_, err = exec(ctx, db, sqlStreamOptions, s.ID, text)
		return err
	})
	return s, err
}

// ReserveColumns implements catalog.Names. Columns that exist are found without a lock.
func (c *Catalog) ReserveColumns(ctx context.Context, stream catalog.StreamID, names []string) ([]catalog.Column, error) {
	columns, err := c.Columns(ctx, stream)
	if err != nil || (len(columns) > 0 && len(rules.NewColumns(columns, names)) == 0) {
		return columns, err
	}
	err = c.write(ctx, "reserve columns", func(ctx context.Context, db conn) (err error) {
		columns, err = reserve(ctx, db, stream, names)
		return err
	})
	return columns, err
}

func reserve(ctx context.Context, db conn, stream catalog.StreamID, names []string) ([]catalog.Column, error) {
	n, err := exec(ctx, db, sqlStreamLockID, stream)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: id %d", catalog.ErrNoStream, stream)
	}
	columns, err := query(ctx, db, scanColumn, sqlColumns, stream)
	if err != nil {
		return nil, err
	}
	added := rules.NewColumns(columns, names)
	if len(added) == 0 {
		return columns, nil
	}
	ids, raw, physical := make([]int32, len(added)), make([][]byte, len(added)), make([]string, len(added))
	for i, col := range added {
		ids[i], raw[i], physical[i] = int32(col.ID), []byte(col.Name), col.Physical
	}
	if _, err := exec(ctx, db, sqlColumnsInsert, stream, ids, raw, physical); err != nil {
		return nil, err
	}
	return append(columns, added...), nil
}

// Columns implements catalog.Names.
func (c *Catalog) Columns(ctx context.Context, stream catalog.StreamID) (out []catalog.Column, err error) {
	err = c.read(ctx, "list columns", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, scanColumn, sqlColumns, stream)
		return err
	})
	return out, err
}

func scanColumn(row pgx.CollectableRow) (col catalog.Column, err error) {
	var name []byte
	err = row.Scan(&col.ID, &name, &col.Physical, &col.Types)
	col.Name = string(name)
	return col, err
}
