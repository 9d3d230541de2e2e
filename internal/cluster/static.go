package cluster

import (
	"context"
	"time"
)

// Static is the membership of a process that is alone: a view of one node that never changes. It needs no database.
type Static struct{ view *View }

// NewStatic returns the membership whose only member is self.
func NewStatic(self Node) *Static {
	return &Static{view: NewView(1, Algo, []Listed{{Node: self, Active: self.MemberOf()}})}
}

// View returns the view. It never fails.
func (s *Static) View(context.Context) (*View, error) { return s.view, nil }

// Current returns the view.
func (s *Static) Current() *View { return s.view }

// Stale returns 0: the view is always true.
func (s *Static) Stale() time.Duration { return 0 }
