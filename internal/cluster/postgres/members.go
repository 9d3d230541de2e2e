package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/internal/rules"
	"github.com/millstream/millstream/internal/fault"
)

// attempts bounds a loop of compare and set. Losing means that another one has won, so a few are plenty.
const attempts = 4

// Claim implements cluster.Store.
func (s *Store) Claim(ctx context.Context, n cluster.Node, replaces int64) (holder cluster.Status, claimed bool, err error) {
	const operation = "claim node id"
	for range attempts {
		if _, err := s.exec(ctx, operation, sqlClamp); err != nil {
			return holder, false, err
		}
		touched, err := s.exec(ctx, operation, sqlClaim,
			n.ID, n.Incarnation, names(n.Roles), n.Address, n.HTTPAddress, n.Version, replaces, s.timing.PeerTimeout, n.QuerySlots)
		if err != nil || touched > 0 {
			return holder, err == nil, err
		}
		holders, err := list(ctx, s, s.scanStatus, sqlStatuses, n.ID)
		if err != nil {
			return holder, false, asFault(ctx, operation, err)
		}
		if len(holders) > 0 {
			return holders[0], false, nil
		}
		// The holder left in between.
	}
	return holder, false, asFault(ctx, operation, errTooOften)
}

// Beat implements cluster.Store.
func (s *Store) Beat(ctx context.Context, hb cluster.Heartbeat) (drain bool, err error) {
	err = s.pool.QueryRow(ctx, sqlBeat, hb.ID, hb.Incarnation, names(hb.Roles), hb.Address, hb.HTTPAddress, hb.Version, hb.Ready,
		hb.Phase, hb.UnflushedRows, hb.QuerySlots).Scan(&drain)
	if errors.Is(err, pgx.ErrNoRows) {
		err = cluster.ErrSuperseded
	}
	return drain, asFault(ctx, "write heartbeat", err)
}

// Leave implements cluster.Store.
func (s *Store) Leave(ctx context.Context, id string, incarnation int64) error {
	_, err := s.exec(ctx, "leave", sqlLeave, id, incarnation)
	return err
}

// Sweep implements cluster.Store. It also forgets old drains and leases that nobody took over.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	const operation = "sweep silent nodes"
	if _, err := s.exec(ctx, operation, sqlSweepLeases); err != nil {
		return 0, err
	}
	if _, err := s.exec(ctx, operation, sqlSweepDrains, cluster.DrainsFor); err != nil {
		return 0, err
	}
	return s.exec(ctx, operation, sqlSweep, cluster.SilentRowsFor, s.timing.Gap(), s.timing.PeerTimeout)
}

// Observe implements cluster.Store. A reader that loses to others each time returns what they have written.
func (s *Store) Observe(ctx context.Context, known int64) (*cluster.View, error) {
	const operation = "read members"
	var seen sight
	for range attempts {
		var err error
		seen, err = s.look(ctx)
		if err != nil {
			return nil, asFault(ctx, operation, err)
		}
		if seen.future {
			if _, err := s.exec(ctx, operation, sqlClamp); err != nil {
				return nil, err
			}
		}
		next, write := rules.Next(seen.record, seen.rows, seen.now, s.timing, known)
		if !write {
			return next.View(), nil
		}
		won, err := s.write(ctx, seen, next)
		if err != nil {
			return nil, asFault(ctx, operation, err)
		}
		if won {
			return next.View(), nil
		}
	}
	if seen.record.Epoch < known {
		return nil, asFault(ctx, operation, errTooOften)
	}
	return seen.record.View(), nil
}

// sight is what the tables held at one moment.
type sight struct {
	now     time.Time
	version int64 // of the view row
	record  rules.Record
	rows    []rules.Row
	future  bool // some row is dated in the future
}

func (s *Store) look(ctx context.Context) (seen sight, err error) {
	var members []byte
	nodes, err := list(ctx, s, func(r pgx.CollectableRow) (n nodeRow, err error) {
		err = r.Scan(&seen.now, &seen.version, &seen.record.Epoch, &seen.record.Algo, &members, &seen.record.ObservedAt,
			&seen.record.ReachableSince, &n.id, &n.incarnation, &n.roles, &n.address, &n.httpAddress, &n.version,
			&n.querySlots, &n.ready,
			&n.heartbeatAt, &n.readyAt)
		return n, err
	}, sqlObserve)
	if err != nil {
		return seen, err
	}
	if len(nodes) == 0 {
		return seen, fault.New(fault.Corrupt, "the view row is missing")
	}
	seen.now = seen.now.UTC()
	if err := json.Unmarshal(members, &seen.record.Listed); err != nil {
		return seen, fmt.Errorf("read the view row: %w", err)
	}
	for _, n := range nodes {
		if n.id != nil { // else there are none
			seen.rows = append(seen.rows, n.row())
			seen.future = seen.future || n.heartbeatAt.After(seen.now)
		}
	}
	return seen, nil
}

// nodeRow is a row of cluster_node, or of nulls when there is none.
type nodeRow struct {
	id, address, httpAddress, version *string
	incarnation                       *int64
	roles                             []string
	ready                             *bool
	querySlots                        *int
	heartbeatAt, readyAt              *time.Time
}

func (n nodeRow) row() rules.Row {
	r := rules.Row{Ready: *n.ready, Node: cluster.Node{
		ID: *n.id, Incarnation: *n.incarnation, Roles: roles(n.roles), Address: *n.address, HTTPAddress: *n.httpAddress, Version: *n.version,
		QuerySlots: *n.querySlots,
	}}
	if n.readyAt != nil {
		r.ReadyAt = *n.readyAt
	}
	return r
}

// write puts next in the place of what was seen. It reports false when the row has changed since, or was seen too long ago.
func (s *Store) write(ctx context.Context, seen sight, next rules.Record) (won bool, err error) {
	members, err := json.Marshal(next.View().Listed())
	if err != nil {
		return false, fmt.Errorf("write the view row: %w", err)
	}
	tag, err := s.pool.Exec(ctx, sqlViewWrite, seen.version, next.Epoch, next.Algo, string(members), next.ObservedAt,
		next.ReachableSince, seen.now.Add(s.timing.WriteWithin()))
	return tag.RowsAffected() > 0, err
}

// Statuses implements cluster.Store.
func (s *Store) Statuses(ctx context.Context) ([]cluster.Status, error) {
	out, err := list(ctx, s, s.scanStatus, sqlStatuses, "")
	return out, asFault(ctx, "list nodes", err)
}

func (s *Store) scanStatus(r pgx.CollectableRow) (st cluster.Status, err error) {
	var (
		text  []string
		ready bool
	)
	err = r.Scan(&st.ID, &st.Incarnation, &text, &st.Address, &st.HTTPAddress, &st.Version, &ready, &st.Phase, &st.UnflushedRows,
		&st.Started, &st.HeartbeatAt, &st.Silence, &st.QuerySlots)
	st.Roles, st.Started, st.HeartbeatAt = roles(text), st.Started.UTC(), st.HeartbeatAt.UTC()
	st.State = rules.State(ready, st.Silence, s.timing)
	return st, err
}

func names(rs []cluster.Role) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = string(r)
	}
	return out
}

func roles(names []string) []cluster.Role {
	out := make([]cluster.Role, len(names))
	for i, n := range names {
		out[i] = cluster.Role(n)
	}
	return out
}
