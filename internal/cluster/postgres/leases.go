package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/internal/rules"
)

// Acquire implements cluster.Leases.
func (s *Store) Acquire(ctx context.Context, key cluster.LeaseKey, holder string) (lease cluster.Lease, ok bool, err error) {
	lease = cluster.Lease{LeaseKey: key, Holder: holder, Token: rules.Token()}
	err = s.pool.QueryRow(ctx, sqlLeaseAcquire, key.Work, key.Item, holder, lease.Token, cluster.LeaseFor).Scan(&lease.Expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return cluster.Lease{}, false, nil
	}
	if err != nil {
		return cluster.Lease{}, false, asFault(ctx, "acquire lease", err)
	}
	lease.Expires = lease.Expires.UTC()
	return lease, true, nil
}

// Release implements cluster.Leases.
func (s *Store) Release(ctx context.Context, lease cluster.Lease) error {
	_, err := s.exec(ctx, "release lease", sqlLeaseRelease, lease.Work, lease.Item, lease.Token)
	return err
}
