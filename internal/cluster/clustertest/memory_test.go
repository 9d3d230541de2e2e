package clustertest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) clustertest.Subject {
	t.Helper()
	const peerTimeout = 15 * time.Second
	c := clock.NewFake(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	m := clustertest.NewMemory(c, peerTimeout)
	return clustertest.Subject{
		Store: m, PeerTimeout: peerTimeout, Pass: c.Advance,
		Second: func(*testing.T) clustertest.Store { return m },
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	clustertest.Run(t, open)
}
