package clustertest

import (
	"testing"
	"time"

	"github.com/millstream/millstream/internal/cluster"
)

// Store is what is tested.
type Store interface {
	cluster.Store
	cluster.Leases
}

// Subject is a store under test and its time.
type Subject struct {
	Store       Store
	PeerTimeout time.Duration            // of the store; long against the time that a test takes
	Pass        func(d time.Duration)    // moves the store's clock by d, backwards when negative
	Second      func(t *testing.T) Store // another process's store of the same tables
}

// Run runs the suite. open returns an empty store that is closed when the test ends; each case opens one.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Claim", claimCases()},
		{"Members", memberCases()},
		{"View", viewCases()},
		{"Silence", silenceCases()},
		{"Outage", outageCases()},
		{"Drains", drainCases()},
		{"Leases", leaseCases()},
		{"Races", raceCases()},
		{"Random", randomCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newFixture(t, open(t)))
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(f *fixture)
}
