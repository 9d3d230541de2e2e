package app

import (
	"context"
	"sync"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/lifecycle"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/overrides"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

// addOverrides adds the stage that reads the overrides file and follows it. A file that cannot be used as a whole keeps the process from
// starting: limits that were written down and are not in force would be found out too late.
func (n *node) addOverrides(g *lifecycle.Group) {
	o := n.config.Overrides
	if o.File == "" {
		return
	}
	var recorder *overrides.Recorder
	g.Add(lifecycle.Stage{
		Name: "overrides",
		Start: func(ctx context.Context) error {
			recorder = overrides.NewRecorder(auth.NewAudit(n.catalog, n.component("audit")), n.component("overrides"))
			recorder.Start(ctx)
			n.overrides = overrides.New(overrides.Options{Path: o.File, Period: o.Period}, overrides.Deps{
				Target: overridesTarget{n}, Logger: n.component("overrides"), Registerer: n.metrics, Applied: recorder.Applied,
			})
			return n.overrides.Load()
		},
		Run: func(ctx context.Context) error {
			var wait sync.WaitGroup
			wait.Go(func() { recorder.Run(ctx) })
			defer wait.Wait()
			return n.overrides.Run(ctx)
		},
	})
}

// overridesTarget puts overrides in force.
type overridesTarget struct{ *node }

// Replace implements overrides.Target.
func (t overridesTarget) Replace(all map[tenant.ID]limits.Override) {
	t.limits.Replace(all)
	t.writeLimits.bytes.Refresh()
}

// requestRates are the rates of requests, which routers have and standalone processes have not. Each process counts for itself.
func (n *node) requestRates() httpapi.RequestRates {
	if n.router == nil {
		return httpapi.RequestRates{}
	}
	of := n.config.Router
	rate := func(class string, qps int64) *quota.Requests {
		return quota.NewRequests(clock.System{}, class, quota.RequestRate{PerSecond: qps, Burst: qps * of.BurstMultiplier})
	}
	return httpapi.RequestRates{Intake: rate("intake", of.IntakeQPS), Query: rate("query", of.QueryQPS)}
}

// countedCallers authenticates gRPC calls and counts them as writes.
type countedCallers struct {
	*auth.Authenticator

	requests *quota.Requests // nil: calls are not counted
}

// GRPC returns who calls.
func (c countedCallers) GRPC(ctx context.Context, need auth.Right) (auth.Principal, error) {
	p, err := c.Authenticator.GRPC(ctx, need)
	if err == nil && c.requests != nil {
		_, err = c.requests.Take(p.Org())
	}
	return p, err
}

// limitReport tells operators and orgs about limits.
type limitReport struct{ *node }

// Explain implements httpapi.Limits.
func (l limitReport) Explain(org tenant.ID) []limits.Value { return l.limits.Explain(org) }

// Overridden implements httpapi.Limits.
func (l limitReport) Overridden() []tenant.ID { return l.limits.Overridden() }

// Generation implements httpapi.Limits.
func (l limitReport) Generation() int64 { return l.limits.Generation() }

// OverridesFile implements httpapi.Limits.
func (l limitReport) OverridesFile() (overrides.Status, bool) {
	if l.overrides == nil {
		return overrides.Status{}, false
	}
	return l.overrides.Status(), true
}

// Usage implements httpapi.Limits. What cannot be asked just now is left out.
func (l limitReport) Usage(ctx context.Context, org tenant.ID) map[string]any {
	usage := map[string]any{}
	if rate := l.writeLimits.bytes; rate.Limited(org) {
		usage[limits.IngestionBurstSizeMB] = map[string]int64{"free_bytes_at_this_node": rate.Free(org)}
	}
	if streams, err := l.catalog.Streams(ctx, org); err == nil {
		usage[limits.MaxGlobalStreamsPerUser] = len(streams)
	}
	return usage
}
