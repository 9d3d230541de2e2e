package work

import (
	"github.com/millstream/millstream/internal/cluster"
)

// Kinds of work, as the metrics name them.
const (
	Compaction         = "compaction"          // units are datasets with at least one segment
	PartitionManifest  = "partition_manifest"  // likewise
	IndexRebuild       = "index_rebuild"       // units are orgs with at least one dataset
	StorageReconciler  = "storage_reconciler"  // likewise
	RuleEvaluation     = "rule_evaluation"     // units are rules
	EscalationDispatch = "escalation_dispatch" // units are incidents
	Primary            = "primary"             // 1 on the primary, else 0
)

// primaryUnit is the unit whose owner is the primary. It is part of the protocol between nodes.
const primaryUnit = "primary"

// Source knows the current view. cluster.Membership and cluster.Static do.
type Source interface {
	// Current returns the last good view, nil before the first.
	Current() *cluster.View
}

// Options says whose work is divided.
type Options struct {
	Role    cluster.Role // RoleCompactor or RoleAlert
	Self    string       // node id
	Source  Source
	Metrics *Metrics // of the process, shared by its divisions
	Kinds   []string // kinds of work whose gauges stand at 0 before their first round
	Primary bool     // the role has a primary; its gauge is shown
}

// Division answers what this node owns of a role's work. Its methods may be called concurrently and ask nobody: they go by the view
// that the process has.
type Division struct{ o Options }

// New returns a division and shows it in the metrics.
func New(o Options) *Division {
	d := &Division{o: o}
	o.Metrics.add(d)
	return d
}

// Active reports whether this node works: it is a member, so it has stood in the view for one peer timeout, or was the first.
func (d *Division) Active() bool {
	v := d.o.Source.Current()
	return v != nil && v.IsMember(d.o.Role, d.o.Self)
}

// Owns reports whether this node is active and owns the unit now. A round over many units takes a Round.
func (d *Division) Owns(unit string) bool { return cluster.Owner(d.mine(), unit) == d.o.Self }

// IsPrimary reports whether this node is active and runs what only one node may run. While the primary is joining there is none.
func (d *Division) IsPrimary() bool { return d.Owns(primaryUnit) }

// Members returns how many nodes the work is divided among, joining ones too, as this node sees it.
func (d *Division) Members() int { return len(d.ids()) }

func (d *Division) ids() []string {
	v := d.o.Source.Current()
	if v == nil {
		return nil
	}
	return v.WorkIDs(d.o.Role)
}

// mine returns the ids that the work is divided among, none when this node is not active.
func (d *Division) mine() []string {
	v := d.o.Source.Current()
	if v == nil || !v.IsMember(d.o.Role, d.o.Self) {
		return nil
	}
	return v.WorkIDs(d.o.Role)
}

// SkipOverlap counts an item that this node owns and has skipped because another node has run it in the same period.
func (d *Division) SkipOverlap() { d.o.Metrics.overlap.Inc() }

// SetOwned shows how many units of a kind of work this node owned in its latest round. Round.Done calls it.
func (d *Division) SetOwned(kind string, units int) {
	d.o.Metrics.owned.WithLabelValues(kind).Set(float64(units))
}

// Round is one pass over the units of a kind of work, by one view. It is for one goroutine.
type Round struct {
	d      *Division
	kind   string
	ids    []string // none when this node is not active
	counts int      // units owned
}

// Round begins a pass. The caller asks Owns once a unit and calls Done at the end.
func (d *Division) Round(kind string) *Round {
	return &Round{d: d, kind: kind, ids: d.mine()}
}

// Owns reports whether the unit is this node's in this round, and counts it.
func (r *Round) Owns(unit string) bool {
	owns := cluster.Owner(r.ids, unit) == r.d.o.Self
	if owns {
		r.counts++
	}
	return owns
}

// Done shows how many units were owned.
func (r *Round) Done() { r.d.SetOwned(r.kind, r.counts) }
