package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/internal/rules"
)

// RequestDrain implements cluster.Store.
func (s *Store) RequestDrain(ctx context.Context, id string) (d cluster.Drain, err error) {
	const operation = "request drain"
	if _, err := s.exec(ctx, operation, sqlDrainRequest, id, s.timing.PeerTimeout); err != nil {
		return d, err
	}
	found, err := list(ctx, s, scanDrain, sqlDrainCurrent, id)
	if err != nil {
		return d, asFault(ctx, operation, err)
	}
	if len(found) == 0 {
		return d, asFault(ctx, operation, rules.NoLiveNode(id))
	}
	return found[0], nil
}

// ReportDrain implements cluster.Store.
func (s *Store) ReportDrain(ctx context.Context, id string, incarnation int64, p cluster.Progress, ended bool) error {
	_, err := s.exec(ctx, "report drain", sqlDrainReport, id, incarnation, p.Phase, p.UnflushedRows, ended)
	return err
}

// Drains implements cluster.Store.
func (s *Store) Drains(ctx context.Context) ([]cluster.Drain, error) {
	out, err := list(ctx, s, scanDrain, sqlDrains, cluster.DrainsFor)
	return out, asFault(ctx, "list drains", err)
}

func scanDrain(r pgx.CollectableRow) (d cluster.Drain, err error) {
	var ended *time.Time
	err = r.Scan(&d.Node, &d.Incarnation, &d.Phase, &d.UnflushedRows, &d.Requested, &d.Updated, &ended)
	d.Requested, d.Updated = d.Requested.UTC(), d.Updated.UTC()
	if ended != nil {
		d.Ended = ended.UTC()
	}
	return d, err
}
