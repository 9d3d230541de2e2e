package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/clustertest"
	"github.com/millstream/millstream/internal/cluster/work"
)

// views is a source whose view a test sets.
type views struct{ current *cluster.View }

func (v *views) Current() *cluster.View { return v.current }

// of makes a view of compactors: members, and joining ones after a dash.
func of(epoch int64, members string) *cluster.View {
	var listed []cluster.Listed
	for id := range strings.FieldsSeq(members) {
		name, joining := strings.CutPrefix(id, "-")
		l := cluster.Listed{Node: cluster.Node{ID: name, Roles: []cluster.Role{cluster.RoleCompactor}}}
		if !joining {
			l.Active = l.Roles
		}
		listed = append(listed, l)
	}
	return cluster.NewView(epoch, cluster.Algo, listed)
}

func division(self string, source work.Source) (*work.Division, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return work.New(work.Options{
		Role: cluster.RoleCompactor, Self: self, Source: source, Metrics: work.NewMetrics(reg), Kinds: []string{work.Compaction}, Primary: true,
	}), reg
}

// owners returns who owns each of many units, "" for a unit that nobody works on. It fails when two do.
func owners(t *testing.T, v *cluster.View, nodes ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, id := range nodes {
		d, _ := division(id, &views{v})
		r := d.Round(work.Compaction)
		for i := range 500 {
			unit := fmt.Sprint("dataset-", i)
			owns := r.Owns(unit)
			require.Equal(t, d.Owns(unit), owns)
			if owns {
				require.Empty(t, out[unit], "%s has two owners", unit)
				out[unit] = id
			}
		}
	}
	return out
}

func TestEveryUnitHasOneOwner(t *testing.T) {
	t.Parallel()
	require.Len(t, owners(t, of(1, "a b c"), "a", "b", "c"), 500)
	require.Len(t, owners(t, of(1, "a"), "a"), 500)
	require.Empty(t, owners(t, of(1, ""), "a"))
	require.Empty(t, owners(t, nil, "a"), "before the first view")
}

func TestANewMemberTakesOnlyItsShareAndWaits(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c"}
	before := owners(t, of(1, "a b"), all...)
	joining := owners(t, of(2, "a b -c"), all...)
	after := owners(t, of(3, "a b c"), all...)
	require.Len(t, after, 500)
	require.NotEqual(t, before, after)
	for unit, owner := range after {
		if owner == "c" {
			require.Empty(t, joining[unit], "%s: the old owner has left it, the new one waits", unit)
			continue
		}
		require.Equal(t, owner, before[unit], "%s moves between old members", unit)
		require.Equal(t, owner, joining[unit])
	}
}

func TestALostMembersUnitsAloneMove(t *testing.T) {
	t.Parallel()
	before := owners(t, of(1, "a b c"), "a", "b", "c")
	for unit, owner := range owners(t, of(2, "a c"), "a", "c") {
		if before[unit] != "b" {
			require.Equal(t, before[unit], owner)
		}
	}
}

func TestOnePrimary(t *testing.T) {
	t.Parallel()
	primaries := 0
	for _, id := range []string{"a", "b", "c"} {
		d, _ := division(id, &views{of(1, "a b c")})
		if d.IsPrimary() {
			primaries++
		}
	}
	require.Equal(t, 1, primaries)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	source := &views{}
	d, reg := division("a", source)
	show := func(members, active, owned, primary, skipped int) {
		t.Helper()
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(fmt.Sprintf(`
# HELP work_ownership_active 1 when this node takes its share of the work, else 0.
# TYPE work_ownership_active gauge
work_ownership_active %d
# HELP work_ownership_members Nodes that this node sees sharing the work.
# TYPE work_ownership_members gauge
work_ownership_members %d
# HELP work_ownership_owned_units Units of work that this node owned in its latest round, by kind of work.
# TYPE work_ownership_owned_units gauge
work_ownership_owned_units{work="compaction"} %d
work_ownership_owned_units{work="primary"} %d
# HELP work_overlap_skipped_total Items skipped because another node had run them in the same period.
# TYPE work_overlap_skipped_total counter
work_overlap_skipped_total %d
`, active, members, owned, primary, skipped))))
	}
	show(0, 0, 0, 0, 0)
	source.current = of(1, "-a")
	show(1, 0, 0, 0, 0)
	source.current = of(2, "a")
	r := d.Round(work.Compaction)
	for i := range 7 {
		require.True(t, r.Owns(fmt.Sprint(i)))
	}
	r.Done()
	d.SkipOverlap()
	show(1, 1, 7, 1, 1)
	source.current = of(3, "a -b c")
	d.Round(work.Compaction).Done()
	members := 3
	primary := 0
	if d.IsPrimary() {
		primary = 1
	}
	show(members, 1, 0, primary, 1)
}

func TestDivisionsShareTheMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := work.NewMetrics(reg)
	source := cluster.NewStatic(cluster.Node{ID: "s", Incarnation: 1, Roles: []cluster.Role{cluster.RoleStandalone}})
	for _, r := range []cluster.Role{cluster.RoleCompactor, cluster.RoleAlert} {
		d := work.New(work.Options{Role: r, Self: "s", Source: source, Metrics: m})
		require.True(t, d.Active())
		require.True(t, d.Owns("anything"))
		require.Equal(t, 1, d.Members())
	}
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP work_ownership_active 1 when this node takes its share of the work, else 0.
# TYPE work_ownership_active gauge
work_ownership_active 1
# HELP work_ownership_members Nodes that this node sees sharing the work.
# TYPE work_ownership_members gauge
work_ownership_members 1
`), "work_ownership_active", "work_ownership_members"))
}

func TestLeases(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	store := clustertest.NewMemory(c, 15*time.Second)
	a, b := work.NewLeases(store, "a"), work.NewLeases(store, "b")
	ctx, cancel := context.WithCancel(t.Context())

	boom := errors.New("boom")
	ran, err := a.Do(ctx, "report", "r1", func(ctx context.Context) error {
		ran, err := b.Do(ctx, "report", "r1", func(context.Context) error { panic("two at once") })
		require.NoError(t, err)
		require.False(t, ran)
		cancel()
		return boom
	})
	require.True(t, ran)
	require.ErrorIs(t, err, boom)

	lease, ok, err := b.Acquire(t.Context(), "report", "r1")
	require.NoError(t, err)
	require.True(t, ok, "released although the context of the work had ended")
	require.Equal(t, c.Now().Add(cluster.LeaseFor), lease.Expires())

	c.Advance(cluster.LeaseFor) // b has crashed
	_, ok, err = a.Acquire(t.Context(), "report", "r1")
	require.NoError(t, err)
	require.True(t, ok)

	store.SetAway(true)
	_, err = a.Do(t.Context(), "report", "r2", func(context.Context) error { panic("without a lease") })
	require.ErrorContains(t, err, "acquire the lease of report r2")
}
