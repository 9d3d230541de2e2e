package cluster

import (
	"context"
	"fmt"
	"time"
)

// Leave takes this node out of the member lists for good: its row is deleted and no heartbeat follows. Others stop using it when they
// look next, within 2 s. On an error Run goes on trying.
func (m *Membership) Leave(ctx context.Context) error {
	m.setLeaving()
	if err := m.takeTurn(ctx); err != nil {
		return fmt.Errorf("leave the cluster: %w", err)
	}
	defer m.endTurn()
	if err := m.leave(ctx); err != nil {
		return fmt.Errorf("leave the cluster: %w", err)
	}
	return nil
}

// leave deletes the row unless that has been done. The caller has the turn.
func (m *Membership) leave(ctx context.Context) error {
	m.mu.Lock()
	left := m.mu.left
	m.mu.Unlock()
	if left {
		return nil
	}
	err := m.store.Leave(ctx, m.o.Self.ID, m.o.Self.Incarnation)
	m.metrics.called("leave", err)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.mu.left = true
	m.mu.Unlock()
	return nil
}

// afterLeaving does what a node does instead of a heartbeat once it has been told to leave. The caller has the turn.
func (m *Membership) afterLeaving(ctx context.Context) (again time.Duration) {
	if err := m.leave(ctx); err != nil {
		m.failed(ctx, "leave", err)
		return m.retryEvery()
	}
	if err := m.report(ctx, false); err != nil {
		m.failed(ctx, "report", err)
		return m.retryEvery()
	}
	return m.o.HeartbeatInterval
}

// EndDrain records that nothing is left to do on this node, if somebody asked it to drain. The last progress becomes final.
func (m *Membership) EndDrain(ctx context.Context) error {
	if err := m.report(ctx, true); err != nil {
		return fmt.Errorf("end the drain: %w", err)
	}
	return nil
}

func (m *Membership) report(ctx context.Context, ended bool) error {
	m.mu.Lock()
	p := m.mu.progress
	m.mu.Unlock()
	err := m.store.ReportDrain(ctx, m.o.Self.ID, m.o.Self.Incarnation, p, ended)
	m.metrics.called("report", err)
	return err
}

func (m *Membership) isLeaving() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.leaving
}

func (m *Membership) setLeaving() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.leaving = true
}
