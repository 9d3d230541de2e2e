package sqlite

import (
	"context"
	"database/sql"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/fault"
)

// The counters' names.
const (
	epochCounter   = "epoch"
	segmentCounter = "segment"
)

// StartWriter implements catalog.Writers.
func (c *Catalog) StartWriter(ctx context.Context, node, address string) (w catalog.Writer, err error) {
	if err := rules.CheckText("node", node); err != nil {
		return w, err
	}
	err = c.write(ctx, "start writer", func(tx *sql.Tx) error {
		started := c.now()
		w = catalog.Writer{Node: node, Address: address, Started: moment(started)}
		if err := tx.QueryRowContext(ctx, sqlCounterNext, epochCounter, 1).Scan(&w.Epoch); err != nil {
			return err
		}
		_, err := exec(ctx, tx, sqlWriterUpsert, node, w.Epoch, address, started)
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
	return c.write(ctx, "adopt writer", func(tx *sql.Tx) error {
		if _, err := exec(ctx, tx, sqlCounterRaise, epochCounter, epoch); err != nil {
			return err
		}
		_, err := exec(ctx, tx, sqlWriterUpsert, node, epoch, address, c.now())
		return err
	})
}

// EndWriter implements catalog.Writers.
func (c *Catalog) EndWriter(ctx context.Context, node string, epoch int64) error {
	return c.write(ctx, "end writer", func(tx *sql.Tx) error {
		_, err := exec(ctx, tx, sqlWriterDelete, node, epoch)
		return err
	})
}

// Writers implements catalog.Writers.
func (c *Catalog) Writers(ctx context.Context) (out []catalog.Writer, err error) {
	err = c.read(ctx, "list writers", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, scanWriter, sqlWriters)
		return err
	})
	return out, err
}

func scanWriter(rows *sql.Rows) (w catalog.Writer, err error) {
	var started int64
	err = rows.Scan(&w.Node, &w.Epoch, &w.Address, &started)
	w.Started = moment(started)
	return w, err
}

// Committed implements catalog.Writers.
func (c *Catalog) Committed(ctx context.Context, node string, epoch int64) (map[catalog.DatasetID]uint64, error) {
	out := make(map[catalog.DatasetID]uint64)
	err := c.read(ctx, "read committed sequences", func(tx *sql.Tx) error {
		_, err := query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
			var (
				dataset  catalog.DatasetID
				sequence uint64
			)
			err = rows.Scan(&dataset, &sequence)
			out[dataset] = sequence
			return struct{}{}, err
		}, sqlCommitted, node, epoch)
		return err
	})
	return out, err
}

// NextSegments implements catalog.Segments.
func (c *Catalog) NextSegments(ctx context.Context, n int) (first catalog.SegmentID, err error) {
	if n <= 0 {
		return 0, fault.New(fault.Invalid, "draw segment numbers: %d is not positive", n)
	}
	err = c.write(ctx, "draw segment numbers", func(tx *sql.Tx) error {
		var last catalog.SegmentID
		if err := tx.QueryRowContext(ctx, sqlCounterNext, segmentCounter, n).Scan(&last); err != nil {
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
