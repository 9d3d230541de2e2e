package app

import (
	"context"

	"github.com/millstream/millstream/internal/lifecycle"
	"github.com/millstream/millstream/internal/overrides"
)

// addOverrides adds the stage that reads the overrides file and follows it. A file that cannot be used as a whole keeps the process from
// starting: limits that were written down and are not in force would be found out too late.
func (n *node) addOverrides(g *lifecycle.Group) {
	o := n.config.Overrides
	if o.File == "" {
		return
	}
	n.overrides = overrides.New(overrides.Options{Path: o.File, Period: o.Period}, overrides.Deps{
		Target: n.limits, Logger: n.component("overrides"), Registerer: n.metrics,
	})
	g.Add(lifecycle.Stage{
		Name:  "overrides",
		Start: func(context.Context) error { return n.overrides.Load() },
		Run:   n.overrides.Run,
	})
}
