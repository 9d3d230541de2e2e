package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/tenant"
)

// Snapshot implements catalog.Segments.
func (c *Catalog) Snapshot(ctx context.Context, q catalog.SnapshotQuery) (s catalog.Snapshot, err error) {
	err = c.snapshot(ctx, "snapshot", func(ctx context.Context, db conn) error {
		s = rules.NewSnapshot(q)
		b := &pgx.Batch{}
		b.Queue(sqlSnapshotSegments, nonNil(q.Datasets), q.Start, q.End).Query(func(rows pgx.Rows) (err error) {
			s.Segments, err = pgx.AppendRows(s.Segments, rows, segmentScanner())
			return err
		})
		queueSequences(b, q, &s)
		return db.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return catalog.Snapshot{}, err
	}
	return s, nil
}

// queueSequences adds to a batch the reading of all of a snapshot but its segments.
func queueSequences(b *pgx.Batch, q catalog.SnapshotQuery, s *catalog.Snapshot) {
	b.Queue(sqlSnapshotCommits, nonNil(q.Datasets)).Query(func(rows pgx.Rows) error {
		return eachRow(rows, func(row pgx.CollectableRow) error {
			var (
				dataset  catalog.DatasetID
				key      catalog.WriterKey
				sequence uint64
			)
			err := row.Scan(&dataset, &key.Node, &key.Epoch, &sequence)
			rules.AddCommitted(s, dataset, key, sequence)
			return err
		})
	})
	b.Queue(sqlSnapshotVersions, nonNil(q.Datasets)).Query(func(rows pgx.Rows) error {
		return eachRow(rows, func(row pgx.CollectableRow) error {
			var (
				dataset catalog.DatasetID
				version int64
			)
			err := row.Scan(&dataset, &version)
			s.Versions[dataset] = version
			return err
		})
	})
	b.Queue(sqlSnapshotColumns, nonNil(q.Streams)).Query(func(rows pgx.Rows) error {
		return eachRow(rows, func(row pgx.CollectableRow) error {
			var (
				stream catalog.StreamID
				col    catalog.Column
				name   []byte
			)
			err := row.Scan(&stream, &col.ID, &name, &col.Physical, &col.Types)
			col.Name = string(name)
			s.Columns[stream] = append(s.Columns[stream], col)
			return err
		})
	})
}

// nonNil returns the items as an array that is empty rather than NULL.
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// Expire implements catalog.Segments.
func (c *Catalog) Expire(ctx context.Context, dataset catalog.DatasetID, before time.Time) (retired int, err error) {
	err = c.write(ctx, "expire segments", func(ctx context.Context, db conn) error {
		retired = 0
		if _, ok, err := lockDataset(ctx, db, dataset); err != nil || !ok {
			return err
		}
		n, err := exec(ctx, db, sqlSegmentsExpire, dataset, before.UnixMicro())
		if err != nil || n == 0 {
			return err
		}
		retired = int(n)
		_, err = exec(ctx, db, sqlDatasetsTouch, []catalog.DatasetID{dataset})
		return err
	})
	if err != nil {
		return 0, err
	}
	return retired, nil
}

// SetIndex implements catalog.Segments.
func (c *Catalog) SetIndex(ctx context.Context, segment catalog.SegmentID, old, key string, size int64) error {
	if err := rules.CheckIndex(old, key, size); err != nil {
		return err
	}
	return c.write(ctx, "set index", func(ctx context.Context, db conn) error {
		done, err := setIndex(ctx, db, segment, func() (int64, error) {
			return exec(ctx, db, sqlSegmentSetIndex, segment, old, key, size)
		})
		if err != nil || done {
			return err
		}
		var present int
		if err := db.QueryRow(ctx, sqlSegmentHasIndex, segment, key).Scan(&present); err != nil || present == 1 {
			return err
		}
		return fmt.Errorf("%w: segment %d", catalog.ErrIndexChanged, segment)
	})
}

// setIndex takes the segment's dataset before set changes the segment, as every writer does. done is false when the segment is not as
// expected.
func setIndex(ctx context.Context, db conn, segment catalog.SegmentID, set func() (int64, error)) (done bool, err error) {
	datasets, err := query(ctx, db, pgx.RowTo[catalog.DatasetID], sqlSegmentDataset, segment)
	if err != nil || len(datasets) == 0 {
		return false, err
	}
	if _, ok, err := lockDataset(ctx, db, datasets[0]); err != nil || !ok {
		return false, err
	}
	n, err := set()
	if err != nil || n == 0 {
		return false, err
	}
	_, err = exec(ctx, db, sqlDatasetsTouch, datasets)
	return true, err
}

// Datasets implements catalog.Segments.
func (c *Catalog) Datasets(ctx context.Context, org tenant.ID) (out []catalog.Dataset, err error) {
	err = c.read(ctx, "list datasets", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, scanDataset, sqlDatasets, org)
		return err
	})
	return out, err
}

func scanDataset(row pgx.CollectableRow) (d catalog.Dataset, err error) {
	var database, stream string
	if err := row.Scan(&d.ID, &d.Org, &d.Database, &d.Signal, &d.Name, &d.Version, &database, &stream); err != nil {
		return d, err
	}
	d.Options, err = rules.DatasetOptions(database, stream)
	return d, err
}

// Retired implements catalog.Segments.
func (c *Catalog) Retired(ctx context.Context, before time.Time, limit int) (out []catalog.Segment, err error) {
	err = c.read(ctx, "list retired segments", func(ctx context.Context, db conn) error {
		out, err = query(ctx, db, segmentScanner(), sqlRetired, before, limit)
		return err
	})
	return out, err
}

// Forget implements catalog.Segments.
func (c *Catalog) Forget(ctx context.Context, ids []catalog.SegmentID) error {
	return c.write(ctx, "forget segments", func(ctx context.Context, db conn) error {
		_, err := exec(ctx, db, sqlForget, nonNil(ids))
		return err
	})
}

// KnownObjects implements catalog.Segments.
func (c *Catalog) KnownObjects(ctx context.Context, keys []string) (map[string]bool, error) {
	out := make(map[string]bool)
	err := c.read(ctx, "find known objects", func(ctx context.Context, db conn) error {
		found, err := query(ctx, db, pgx.RowTo[string], sqlKnownObjects, rules.Texts(keys))
		for _, key := range found {
			out[key] = true
		}
		return err
	})
	return out, err
}
