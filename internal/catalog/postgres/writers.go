package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/fault"
)

// The counters' names. A counter is a row and not a sequence: its values come in the order of commits, and a crash of the server
// never brings one back.
const (
	epochCounter   = "epoch"
	segmentCounter = "segment"
)

// StartWriter implements catalog.Writers.
func (c *Catalog) StartWriter(ctx context.Context, node, address string) (w catalog.Writer, err error) {
	if err := rules.CheckText("node", node); err != nil {
		return w, err
	}
	err = c.write(ctx, "start writer", func(ctx context.Context, db conn) error {
		w = catalog.Writer{Node: node, Address: address}
		if err := db.QueryRow(ctx, sqlCounterNext, epochCounter, 1).Scan(&w.Epoch); err != nil {
			return err
		}
		err := db.QueryRow(ctx, sqlWriterUpsert, node, w.Epoch, address).Scan(&w.Started)
		w.Started = w.Started.UTC()
		return err
	})
	return w, err
}

// AdoptWriter implements catalog.Writers. An epoch that this catalog has not drawn (it was restored from a backup) raises the
// counter, so that epochs stay unique and ascending.
func (c *Catalog) AdoptWriter(ctx context.Context, node string, epoch int64, address string) error {
	if err := rules.CheckText("node", node); err != nil {
		return err
	}
	return c.write(ctx, "adopt writer", func(ctx context.Context, db conn) error {
		if _, err := exec(ctx, db, sqlCounterRaise, epochCounter, epoch); err != nil {
			return err
		}
		_, err := exec(ctx, db, sqlWriterUpsert, node, epoch, address)
		return err
	})
}

// EndWriter implements catalog.Writers.
func (c *Catalog) EndWriter(ctx context.Context, node string, epoch int64) error {
	return c.write(ctx, "end writer", func(ctx context.Context, db conn) error {
		_, err := exec(ctx, db, sqlWriterDelete, node, epoch)
		return err
	})
}

// Writers implements catalog.Writers.
func (c *Catalog) Writers(ctx context.Context) (out []catalog.Writer, err error) {
	err = c.read(ctx, "list writers", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, scanWriter, sqlWriters)
		return err
	})
	return out, err
}

func scanWriter(row pgx.CollectableRow) (w catalog.Writer, err error) {
	err = row.Scan(&w.Node, &w.Epoch, &w.Address, &w.Started)
	w.Started = w.Started.UTC()
	return w, err
}

// Committed implements catalog.Writers.
func (c *Catalog) Committed(ctx context.Context, node string, epoch int64) (out map[catalog.DatasetID]uint64, err error) {
	err = c.read(ctx, "read committed sequences", func(ctx context.Context, db conn) error {
		out = make(map[catalog.DatasetID]uint64)
		return each(ctx, db, func(row pgx.CollectableRow) error {
			var (
				dataset  catalog.DatasetID
				sequence uint64
			)
			err := row.Scan(&dataset, &sequence)
			out[dataset] = sequence
			return err
		}, sqlCommitted, node, epoch)
	})
	return out, err
}

// NextSegments implements catalog.Segments.
func (c *Catalog) NextSegments(ctx context.Context, n int) (first catalog.SegmentID, err error) {
	if n <= 0 {
		return 0, fault.New(fault.Invalid, "draw segment numbers: %d is not positive", n)
	}
	err = c.write(ctx, "draw segment numbers", func(ctx context.Context, db conn) error {
		var last catalog.SegmentID
		if err := db.QueryRow(ctx, sqlCounterNext, segmentCounter, n).Scan(&last); err != nil {
			return err
		}
		if last > rules.MaxSegment {
			return fault.New(fault.Internal, "draw segment numbers: there are none above %d", int64(rules.MaxSegment))
		}
		first = last - catalog.SegmentID(n) + 1
		return nil
	})
	return first, err
}
