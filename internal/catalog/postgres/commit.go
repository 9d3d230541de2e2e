package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/tenant"
)

// Commit implements catalog.Segments. A round of any width is four round trips: begin, one batch that locks and reads, one that
// writes, commit.
func (c *Catalog) Commit(ctx context.Context, round catalog.Commit) (results []catalog.CommitResult, err error) {
	if err := rules.CheckCommit(&round); err != nil {
		return nil, err
	}
	if len(round.Datasets) == 0 {
		return nil, nil
	}
	err = c.write(ctx, "commit", func(ctx context.Context, db conn) error {
		states, err := lockStates(ctx, db, &round)
		if err != nil {
			return err
		}
		results, err = rules.JudgeAll(&round, states)
		if err != nil {
			return err
		}
		return publish(ctx, db, &round, results)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// lockStates locks the datasets of a round and reads what it is judged by.
func lockStates(ctx context.Context, db conn, round *catalog.Commit) (map[catalog.DatasetID]rules.State, error) {
	ids := rules.DatasetIDs(round)
	states := make(map[catalog.DatasetID]rules.State, len(ids))
	b := &pgx.Batch{}
	b.Queue(sqlCommitDatasets, ids).Query(func(rows pgx.Rows) error {
		return eachRow(rows, func(row pgx.CollectableRow) error {
			var id catalog.DatasetID
			s := rules.State{Exists: true}
			err := row.Scan(&id, &s.Org)
			states[id] = s
			return err
		})
	})
	b.Queue(sqlCommitSequences, ids, round.Node, round.Epoch).Query(func(rows pgx.Rows) error {
		return eachRow(rows, func(row pgx.CollectableRow) error {
			var (
				id       catalog.DatasetID
				epoch    int64
				sequence uint64
			)
			err := row.Scan(&id, &epoch, &sequence)
			states[id] = states[id].With(epoch > round.Epoch, sequence)
			return err
		})
	})
	return states, db.SendBatch(ctx, b).Close()
}

// publish applies the parts whose outcome is Committed.
func publish(ctx context.Context, db conn, round *catalog.Commit, results []catalog.CommitResult) error {
	var (
		b         = &pgx.Batch{}
		datasets  []catalog.DatasetID
		sequences []int64
	)
	for i := range round.Datasets {
		if results[i].Outcome != catalog.Committed {
			continue
		}
		d := &round.Datasets[i]
		datasets, sequences = append(datasets, d.Dataset), append(sequences, int64(d.To))
		if err := queueSegments(b, d.Segments); err != nil {
			return err
		}
	}
	if len(datasets) == 0 {
		return nil
	}
	b.Queue(sqlCommitsUpsert, round.Node, round.Epoch, datasets, sequences)
	b.Queue(sqlDatasetsTouch, datasets)
	queueColumns(b, rules.Published(round, results))
	return db.SendBatch(ctx, b).Close()
}

// queueSegments adds the insertion of live segments to a batch.
func queueSegments(b *pgx.Batch, segments []catalog.Segment) error {
	for i := range segments {
		s := &segments[i]
		columns, err := rules.EncodeColumns(s.Columns)
		if err != nil {
			return err
		}
		b.Queue(sqlSegmentInsert, s.ID, s.Dataset, s.Org, s.Key, s.Bytes, s.Rows, s.MinTime, s.MaxTime, s.Partition.Unit,
			s.Partition.Start, s.Level, s.Format, s.Checksum, s.RowGroups, columns, s.IndexKey, s.Index)
	}
	return nil
}

// queueColumns adds to a batch the joining of types to the columns of streams.
func queueColumns(b *pgx.Batch, published []rules.PublishedColumn) {
	if len(published) == 0 {
		return
	}
	n := len(published)
	datasets, streams, ids, types := make([]catalog.DatasetID, n), make([]catalog.StreamID, n), make([]int32, n), make([]int16, n)
	for i, p := range published {
		datasets[i], streams[i], ids[i], types[i] = p.Dataset, p.Stream, int32(p.Column), int16(p.Types)
	}
	b.Queue(sqlColumnsWiden, datasets, streams, ids, types).QueryRow(func(row pgx.Row) error {
		var known int
		if err := row.Scan(&known); err != nil {
			return err
		}
		if known != n {
			return rules.ErrUnknownColumn
		}
		return nil
	})
}

// Replace implements catalog.Segments.
func (c *Catalog) Replace(ctx context.Context, dataset catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error {
	if err := rules.CheckReplace(dataset, old, added); err != nil {
		return err
	}
	old = rules.Dedup(old)
	return c.write(ctx, "replace segments", func(ctx context.Context, db conn) error {
		org, ok, err := lockDataset(ctx, db, dataset)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("%w: dataset %d is gone", catalog.ErrConflict, dataset)
		}
		if err := rules.CheckOrg(org, added); err != nil {
			return err
		}
		done, err := retire(ctx, db, dataset, old, added)
		if err != nil || done {
			return err
		}
		b := &pgx.Batch{}
		if err := queueSegments(b, added); err != nil {
			return err
		}
		b.Queue(sqlDatasetsTouch, []catalog.DatasetID{dataset})
		return db.SendBatch(ctx, b).Close()
	})
}

// lockDataset locks a dataset and returns its org, or false when it does not exist.
func lockDataset(ctx context.Context, db conn, dataset catalog.DatasetID) (org tenant.ID, ok bool, err error) {
	err = each(ctx, db, func(row pgx.CollectableRow) error {
		ok = true
		return row.Scan(&dataset, &org)
	}, sqlCommitDatasets, []catalog.DatasetID{dataset})
	return org, ok, err
}

// retire retires the sources of a replacement. It returns true when the replacement has been done before.
func retire(
	ctx context.Context, db conn, dataset catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment,
) (done bool, err error) {
	n, err := exec(ctx, db, sqlSegmentsRetire, dataset, old)
	if err != nil || int(n) == len(old) {
		return false, err
	}
	var present int
	if err := db.QueryRow(ctx, sqlSegmentsCount, dataset, rules.SegmentIDs(added)).Scan(&present); err != nil {
		return false, err
	}
	if n == 0 && present == len(added) && present > 0 {
		return true, nil
	}
	return false, fmt.Errorf("%w: %d of %d in dataset %d are", catalog.ErrConflict, n, len(old), dataset)
}
