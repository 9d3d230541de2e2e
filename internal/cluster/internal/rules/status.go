package rules

import (
	"crypto/rand"
	"time"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
)

// State returns the state of a row by itself.
func State(ready bool, silence time.Duration, t Timing) cluster.State {
	switch {
	case silence > t.PeerTimeout:
		return cluster.StateSilent
	case ready:
		return cluster.StateActive
	default:
		return cluster.StateJoining
	}
}

// NoLiveNode is what a request to drain is told.
func NoLiveNode(id string) error {
	return fault.New(fault.NotFound, "there is no live node %q to drain", id)
}

// Token returns a text that tells one lease from every other.
func Token() string { return rand.Text() }
