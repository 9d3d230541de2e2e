package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/tenant"
)

// Snapshot implements catalog.Segments.
func (c *Catalog) Snapshot(ctx context.Context, q catalog.SnapshotQuery) (s catalog.Snapshot, err error) {
	datasets, err := array(q.Datasets)
	if err != nil {
		return s, err
	}
	streams, err := array(q.Streams)
	if err != nil {
		return s, err
	}
	err = c.read(ctx, "snapshot", func(tx *sql.Tx) error {
		s = rules.NewSnapshot(q)
		if s.Segments, err = query(ctx, tx, segmentScanner(), sqlSnapshotSegments, datasets, q.Start, q.End); err != nil {
			return err
		}
		return readSequences(ctx, tx, &s, datasets, streams)
	})
	if err != nil {
		return catalog.Snapshot{}, err
	}
	return s, nil
}

// readSequences reads all of a snapshot but its segments.
func readSequences(ctx context.Context, tx *sql.Tx, s *catalog.Snapshot, datasets, streams string) error {
	_, err := query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
		var (
			dataset  catalog.DatasetID
			key      catalog.WriterKey
			sequence uint64
		)
		err = rows.Scan(&dataset, &key.Node, &key.Epoch, &sequence)
		rules.AddCommitted(s, dataset, key, sequence)
		return struct{}{}, err
	}, sqlSnapshotCommits, datasets)
	if err != nil {
		return err
	}
	_, err = query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
		var (
			dataset catalog.DatasetID
			version int64
		)
		err = rows.Scan(&dataset, &version)
		s.Versions[dataset] = version
		return struct{}{}, err
	}, sqlSnapshotVersions, datasets)
	if err != nil {
		return err
	}
	_, err = query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
		var (
			stream catalog.StreamID
			col    catalog.Column
			name   []byte
		)
		err = rows.Scan(&stream, &col.ID, &name, &col.Physical, &col.Types)
		col.Name = string(name)
		s.Columns[stream] = append(s.Columns[stream], col)
		return struct{}{}, err
	}, sqlSnapshotColumns, streams)
	return err
}

// Expire implements catalog.Segments.
func (c *Catalog) Expire(ctx context.Context, dataset catalog.DatasetID, before time.Time) (retired int, err error) {
	err = c.write(ctx, "expire segments", func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, sqlSegmentsExpire, dataset, before.UnixMicro(), c.now())
		if err != nil || n == 0 {
			return err
		}
		retired = int(n)
		_, err = exec(ctx, tx, sqlDatasetTouch, dataset)
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
	return c.write(ctx, "set index", func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, sqlSegmentSetIndex, segment, old, key, size)
		if err != nil {
			return err
		}
		if n == 1 {
			_, err = exec(ctx, tx, sqlSegmentTouch, segment)
			return err
		}
		var done int
		if err := tx.QueryRowContext(ctx, sqlSegmentHasIndex, segment, key).Scan(&done); err != nil || done == 1 {
			return err
		}
		return fmt.Errorf("%w: segment %d", catalog.ErrIndexChanged, segment)
	})
}

// Datasets implements catalog.Segments.
func (c *Catalog) Datasets(ctx context.Context, org tenant.ID) (out []catalog.Dataset, err error) {
	err = c.read(ctx, "list datasets", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, func(rows *sql.Rows) (d catalog.Dataset, err error) {
			var database, stream string
			if err := rows.Scan(&d.ID, &d.Org, &d.Database, &d.Signal, &d.Name, &d.Version, &database, &stream); err != nil {
				return d, err
			}
			d.Options, err = rules.DatasetOptions(database, stream)
			return d, err
		}, sqlDatasets, org)
		return err
	})
	return out, err
}

// Retired implements catalog.Segments.
func (c *Catalog) Retired(ctx context.Context, before time.Time, limit int) (out []catalog.Segment, err error) {
	err = c.read(ctx, "list retired segments", func(tx *sql.Tx) error {
		out, err = query(ctx, tx, segmentScanner(), sqlRetired, before.UnixMicro(), limit)
		return err
	})
	return out, err
}

// Forget implements catalog.Segments.
func (c *Catalog) Forget(ctx context.Context, ids []catalog.SegmentID) error {
	list, err := array(ids)
	if err != nil {
		return err
	}
	return c.write(ctx, "forget segments", func(tx *sql.Tx) error {
		_, err := exec(ctx, tx, sqlForget, list)
		return err
	})
}

// KnownObjects implements catalog.Segments.
func (c *Catalog) KnownObjects(ctx context.Context, keys []string) (map[string]bool, error) {
	list, err := array(rules.Texts(keys))
	if err != nil {
		return nil, fmt.Errorf("find known objects: %w", err)
	}
	out := make(map[string]bool)
	err = c.read(ctx, "find known objects", func(tx *sql.Tx) error {
		found, err := query(ctx, tx, scanID[string], sqlKnownObjects, list)
		for _, key := range found {
			out[key] = true
		}
		return err
	})
	return out, err
}
