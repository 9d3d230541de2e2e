package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/internal/rules"
	"github.com/millstream/millstream/internal/tenant"
)

// Commit implements catalog.Segments.
func (c *Catalog) Commit(ctx context.Context, round catalog.Commit) (results []catalog.CommitResult, err error) {
	if err := rules.CheckCommit(&round); err != nil {
		return nil, err
	}
	if len(round.Datasets) == 0 {
		return nil, nil
	}
	err = c.write(ctx, "commit", func(tx *sql.Tx) error {
		states, err := commitStates(ctx, tx, &round)
		if err != nil {
			return err
		}
		results, err = rules.JudgeAll(&round, states)
		if err != nil {
			return err
		}
		return c.publish(ctx, tx, &round, results)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// commitStates reads what the round is judged by.
func commitStates(ctx context.Context, tx *sql.Tx, round *catalog.Commit) (map[catalog.DatasetID]rules.State, error) {
	ids, err := array(rules.DatasetIDs(round))
	if err != nil {
		return nil, err
	}
	states := make(map[catalog.DatasetID]rules.State, len(round.Datasets))
	_, err = query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
		var id catalog.DatasetID
		s := rules.State{Exists: true}
		err = rows.Scan(&id, &s.Org)
		states[id] = s
		return struct{}{}, err
	}, sqlCommitDatasets, ids)
	if err != nil {
		return nil, err
	}
	_, err = query(ctx, tx, func(rows *sql.Rows) (_ struct{}, err error) {
		var (
			id       catalog.DatasetID
			epoch    int64
			sequence uint64
		)
		err = rows.Scan(&id, &epoch, &sequence)
		states[id] = states[id].With(epoch > round.Epoch, sequence)
		return struct{}{}, err
	}, sqlCommitSequences, ids, round.Node, round.Epoch)
	return states, err
}

// publish applies the parts whose outcome is Committed.
func (c *Catalog) publish(ctx context.Context, tx *sql.Tx, round *catalog.Commit, results []catalog.CommitResult) error {
	insert, err := c.inserter(ctx, tx)
	if err != nil {
		return err
	}
	for i := range round.Datasets {
		if results[i].Outcome != catalog.Committed {
			continue
		}
		d := &round.Datasets[i]
		if err := insert(d.Segments); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, sqlCommitUpsert, d.Dataset, round.Node, round.Epoch, d.To); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, sqlDatasetTouch, d.Dataset); err != nil {
			return err
		}
	}
	return publishColumns(ctx, tx, rules.Published(round, results))
}

// publishColumns joins types to the columns of streams.
func publishColumns(ctx context.Context, tx *sql.Tx, published []rules.PublishedColumn) error {
	if len(published) == 0 {
		return nil
	}
	rows := make([][4]int64, len(published))
	for i, p := range published {
		rows[i] = [4]int64{int64(p.Dataset), int64(p.Stream), int64(p.Column), int64(p.Types)}
	}
	list, err := array(rows)
	if err != nil {
		return err
	}
	var known int
	if err := tx.QueryRowContext(ctx, sqlColumnsKnown, list).Scan(&known); err != nil {
		return err
	}
	if known != len(published) {
		return rules.ErrUnknownColumn
	}
	_, err = exec(ctx, tx, sqlColumnsWiden, list)
	return err
}

// inserter returns a function that inserts live segments; it works until the transaction ends.
func (c *Catalog) inserter(ctx context.Context, tx *sql.Tx) (func([]catalog.Segment) error, error) {
	statement, err := tx.PrepareContext(ctx, sqlSegmentInsert) //nolint:sqlclosecheck // the transaction's end closes it
	if err != nil {
		return nil, err
	}
	created := c.now()
	return func(segments []catalog.Segment) error {
		for i := range segments {
			s := &segments[i]
			columns, err := rules.EncodeColumns(s.Columns)
			if err != nil {
				return err
			}
			_, err = statement.ExecContext(ctx, s.ID, s.Dataset, s.Org, s.Key, s.Bytes, s.Rows, s.MinTime, s.MaxTime, s.Partition.Unit,
				s.Partition.Start, s.Level, s.Format, s.Checksum, s.RowGroups, columns, s.IndexKey, s.Index, created)
			if err != nil {
				return fmt.Errorf("insert segment %d: %w", s.ID, err)
			}
		}
		return nil
	}, nil
}

// Replace implements catalog.Segments.
func (c *Catalog) Replace(ctx context.Context, dataset catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error {
	if err := rules.CheckReplace(dataset, old, added); err != nil {
		return err
	}
	return c.write(ctx, "replace segments", func(tx *sql.Tx) error {
		orgs, err := query(ctx, tx, scanID[tenant.ID], sqlDatasetOrg, dataset)
		if err != nil {
			return err
		}
		if len(orgs) == 0 {
			return fmt.Errorf("%w: dataset %d is gone", catalog.ErrConflict, dataset)
		}
		if err := rules.CheckOrg(orgs[0], added); err != nil {
			return err
		}
		done, err := c.retire(ctx, tx, dataset, old, added)
		if err != nil || done {
			return err
		}
		insert, err := c.inserter(ctx, tx)
		if err != nil {
			return err
		}
		if err := insert(added); err != nil {
			return err
		}
		_, err = exec(ctx, tx, sqlDatasetTouch, dataset)
		return err
	})
}

// retire retires the sources of a replacement. It returns true when the replacement has been done before.
func (c *Catalog) retire(
	ctx context.Context, tx *sql.Tx, dataset catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment,
) (done bool, err error) {
	sources, err := array(rules.Dedup(old))
	if err != nil {
		return false, err
	}
	n, err := exec(ctx, tx, sqlSegmentsRetire, dataset, sources, c.now())
	if err != nil || int(n) == len(rules.Dedup(old)) {
		return false, err
	}
	results, err := array(rules.SegmentIDs(added))
	if err != nil {
		return false, err
	}
	var present int
	if err := tx.QueryRowContext(ctx, sqlSegmentsCount, dataset, results).Scan(&present); err != nil {
		return false, err
	}
	if n == 0 && present == len(added) && present > 0 {
		return true, nil
	}
	return false, fmt.Errorf("%w: %d of %d in dataset %d are", catalog.ErrConflict, n, len(old), dataset)
}
