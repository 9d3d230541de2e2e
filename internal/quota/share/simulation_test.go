package share_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/allocate"
	"github.com/millstream/millstream/internal/quota/share"
)

var (
	began    = time.Date(2026, 3, 10, 10, 0, 0, 0, time.UTC)
	database = quota.Database{Org: "acme", Name: "logs"}
	budget   = quota.Budget{Kind: quota.KindRows, Org: database.Org, Database: database.Name}
)

// The simulation's grain.
const (
	tick      = 20 * time.Millisecond
	batchRows = 50
)

// frontend is a router of the simulation: real buckets and a real keeper under one clock.
type frontend struct {
	id      string
	demand  float64 // rows a second offered, refused ones not again
	credit  float64
	rows    *quota.Rows
	keeper  *share.Keeper
	wanted  bool
	calm    time.Time // no heartbeat out of turn before
	next    time.Time
	refused int
}

// simulation is a cluster on a fake clock.
type simulation struct {
	t         *testing.T
	clock     *clock.Fake
	store     *memory
	random    *rand.Rand
	limit     uint64
	frontends map[string]*frontend
	starts    int64

	admitted int64 // of the phase
	excess   int64 // most rows above limit × elapsed in the phase
	from     time.Time
	moved    time.Duration // when the shares were last away from the ideal, since the phase began
	sum      uint64        // most quotas in force together
}

func newSimulation(t *testing.T, seed, limit uint64) *simulation {
	t.Helper()
	c := clock.NewFake(began)
	return &simulation{
		t: t, clock: c, store: newMemory(c), random: rand.New(rand.NewPCG(seed, 1)), limit: limit, frontends: map[string]*frontend{},
	}
}

func (s *simulation) join(id string, demand float64) *frontend {
	f := &frontend{id: id, demand: demand, next: s.clock.Now().Add(time.Duration(s.random.Int64N(int64(time.Second))))}
	f.rows = quota.NewRows(quota.RowsOptions{
		Clock: s.clock, Limit: func(quota.Database) quota.RowLimit { return quota.RowLimit{PerSecond: s.limit} },
		Frontends: func() int { return len(s.frontends) }, Wanted: func(quota.Budget) { f.wanted = true },
	})
	s.starts++
	f.keeper = share.New(share.Options{Self: share.Frontend{ID: id, Incarnation: s.starts}, Clock: s.clock}, s.store, f.rows)
	s.frontends[id] = f
	return f
}

// offer writes a batch.
func (s *simulation) offer(f *frontend, rows int64) bool {
	if f.rows.Admit(s.t.Context(), quota.Charge{Database: database, Rows: rows}) != nil {
		f.refused++
		return false
	}
	s.admitted += rows
	elapsed := s.clock.Now().Sub(s.from)
	s.excess = max(s.excess, s.admitted-int64(float64(s.limit)*elapsed.Seconds()))
	return true
}

// step moves the clock on by a tick: everybody writes and beats when it is time.
func (s *simulation) step() {
	s.clock.Advance(tick)
	now := s.clock.Now()
	for _, id := range slices.Sorted(maps.Keys(s.frontends)) {
		f := s.frontends[id]
		for f.credit += f.demand * tick.Seconds(); f.credit >= batchRows; f.credit -= batchRows {
			s.offer(f, batchRows)
		}
		if f.wanted && !now.Before(f.calm) || !now.Before(f.next) {
			if !now.Before(f.next) {
				f.next = f.next.Add(time.Second)
			}
			f.wanted, f.calm = false, now.Add(200*time.Millisecond)
			_ = f.keeper.Beat(s.t.Context()) // fails while the store is away
		}
	}
}

// quotas returns what is in force; 0 where nothing was written yet.
func (s *simulation) quotas() map[string]uint64 {
	out := map[string]uint64{}
	for id, f := range s.frontends {
		out[id] = 0
		for _, u := range f.rows.Usage() {
			out[id] = u.Quota
		}
	}
	return out
}

// ideal returns the shares that the demands lead to.
func (s *simulation) ideal() map[string]uint64 {
	ids := slices.Sorted(maps.Keys(s.frontends))
	wants := make([]uint64, len(ids))
	for i, id := range ids {
		wants[i] = min(uint64(s.frontends[id].demand*1.1+0.5), s.limit)
	}
	out := map[string]uint64{}
	for i, q := range allocate.Fill(s.limit, wants) {
		out[ids[i]] = q
	}
	return out
}

// phase runs for a time and measures.
func (s *simulation) phase(d time.Duration) {
	s.admitted, s.excess, s.from, s.moved, s.sum = 0, 0, s.clock.Now(), 0, 0
	ideal := s.ideal()
	for s.clock.Now().Before(s.from.Add(d)) {
		s.step()
		sum := uint64(0)
		for id, q := range s.quotas() {
			sum += q
			if 100*(max(q, ideal[id])-min(q, ideal[id])) > 3*s.limit {
				s.moved = s.clock.Now().Sub(s.from)
			}
		}
		s.sum = max(s.sum, sum)
	}
}

// result is what was seen worst of a phase over all seeds.
type result struct {
	moved  time.Duration
	excess int64
	sum    float64 // of limits
}

// TestConvergence runs the demands of the design through joins, crashes and changes of the limit, with five seeds. Convergence is the time
// after which every quota stays within 3 % of the limit of its ideal.
func TestConvergence(t *testing.T) {
	t.Parallel()
	phases := []struct {
		name   string
		change func(s *simulation)
		moved  time.Duration // bounds
		excess int64
		sum    float64
	}{
		{"start of 3", func(s *simulation) { s.join("A", 1500); s.join("B", 300); s.join("C", 50) }, 8 * time.Second, 1100, 2},
		{"C 50->800", func(s *simulation) { s.frontends["C"].demand = 800 }, 5 * time.Second, 150, 1.01},
		{"D joins (600)", func(s *simulation) { s.join("D", 600) }, 3 * time.Second, 800, 2},
		{"A crashes", func(s *simulation) {
			delete(s.frontends, "A")
			s.frontends["B"].demand, s.frontends["C"].demand, s.frontends["D"].demand = 800, 1300, 1100
		}, 9 * time.Second, 100, 1.01},
		{"limit 1000->400", func(s *simulation) { s.setLimit(400) }, time.Second, 200, 1.01},
		{"limit 400->2000", func(s *simulation) { s.setLimit(2000) }, 4 * time.Second, 200, 1.01},
		{"B goes idle", func(s *simulation) { s.frontends["B"].demand = 0 }, 9 * time.Second, 100, 1.01},
		{"D leaves", func(s *simulation) {
			require.NoError(s.t, s.frontends["D"].keeper.Leave(s.t.Context()))
			delete(s.frontends, "D")
		}, 3 * time.Second, 100, 1.01},
	}
	worst := make([]result, len(phases))
	for seed := range uint64(5) {
		s := newSimulation(t, seed, 1000)
		for i, p := range phases {
			p.change(s)
			s.phase(29 * time.Second) // shorter than an idle frontend stays
			w := &worst[i]
			w.moved, w.excess = max(w.moved, s.moved), max(w.excess, s.excess)
			w.sum = max(w.sum, float64(s.sum)/float64(s.limit))
		}
	}
	for i, p := range phases {
		t.Logf("%-16s converged after %5.2f s, excess %4d rows, sum in force %.2f", p.name, worst[i].moved.Seconds(), worst[i].excess,
			worst[i].sum)
	}
	for i, p := range phases {
		require.LessOrEqual(t, worst[i].moved, p.moved, p.name)
		require.LessOrEqual(t, worst[i].excess, p.excess, p.name)
		require.LessOrEqual(t, worst[i].sum, p.sum, p.name)
	}
}

func (s *simulation) setLimit(limit uint64) {
	s.limit = limit
	for _, f := range s.frontends {
		f.rows.Refresh()
	}
}

// TestALargeBatchIsPaidSoon writes 5000 rows at an idle frontend while another is busy: half of the limit pays in ten seconds.
func TestALargeBatchIsPaidSoon(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		s := newSimulation(t, seed, 1000)
		s.join("A", 1500)
		s.join("B", 60)
		s.join("C", 60)
		s.phase(30 * time.Second)
		b := s.frontends["B"]
		b.demand = 0
		s.phase(15 * time.Second)
		require.True(t, s.offer(b, 5000))
		from := s.clock.Now()
		for !s.offer(b, 1) {
			s.step()
			require.Less(t, s.clock.Now().Sub(from), time.Minute)
		}
		paid := s.clock.Now().Sub(from)
		t.Logf("seed %d: %.2f s", seed, paid.Seconds())
		require.GreaterOrEqual(t, paid, 9*time.Second, "seed %d", seed)
		require.LessOrEqual(t, paid, 14*time.Second, "seed %d: ten seconds, two heartbeats for the gate, and as many for the last rows", seed)
	}
}

// TestJoinBound joins a router under full load: what is admitted above limit × time is at most one bucket, the newcomer's quota for a
// heartbeat, and a batch.
func TestJoinBound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		s := newSimulation(t, seed, 1000)
		s.join("A", 3000)
		s.join("B", 3000)
		s.phase(20 * time.Second)
		s.join("C", 3000)
		s.phase(20 * time.Second)
		quota := s.quotas()["C"]
		require.LessOrEqual(t, s.excess, int64(s.limit+quota+batchRows), "seed %d", seed)
	}
}

// TestOutage cuts everybody off the store: the shares stay and so does their sum. When it comes back no share moves before all had time to
// report; a limit that was lowered meanwhile counts at once.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 1000)
	s.join("A", 3000)
	s.join("B", 3000)
	s.join("C", 100)
	s.phase(20 * time.Second)
	before := s.quotas()
	s.store.setAway("", true)
	s.phase(10 * time.Minute)
	require.Equal(t, before, s.quotas())
	require.LessOrEqual(t, s.excess, int64(batchRows*3))
	s.setLimit(400)
	s.phase(10 * time.Second)
	require.LessOrEqual(t, s.sum, uint64(400))
	s.setLimit(1000)

	s.store.setAway("", false)
	s.store.setAway("A", true) // A comes back later than the others
	s.store.setAway("B", true)
	s.phase(4 * time.Second)
	require.Equal(t, before["A"], s.quotas()["A"])
	require.LessOrEqual(t, s.sum, s.limit, "C took nothing of what A and B have")
	s.store.setAway("A", false)
	s.store.setAway("B", false)
	s.phase(10 * time.Second)
	require.LessOrEqual(t, s.sum, s.limit)
}

// TestPartition cuts one router off: its share is given away after a while, so what is admitted too much is at most its own quota.
func TestPartition(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 3, 1000)
	s.join("A", 3000)
	s.join("B", 3000)
	s.phase(20 * time.Second)
	own := s.quotas()["A"]
	s.store.setAway("A", true)
	s.phase(2 * time.Minute)
	require.Equal(t, own, s.quotas()["A"], "never back to the whole limit")
	require.Equal(t, s.limit, s.quotas()["B"])
	require.LessOrEqual(t, s.excess, int64(own)*120+2*batchRows)
	s.store.setAway("A", false)
	s.phase(20 * time.Second)
	require.LessOrEqual(t, s.moved, 3*time.Second)
	require.LessOrEqual(t, s.excess, int64(s.limit+own+batchRows))
}

// TestRestartOwesOn restarts a router with the same id, without its files: the debt that it reported last is taken over.
func TestRestartOwesOn(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 4, 1000)
	a := s.join("A", 0)
	s.join("B", 3000)
	s.phase(10 * time.Second)
	require.True(t, s.offer(a, 20_000))
	s.phase(time.Second)
	delete(s.frontends, "A") // a crash
	again := s.join("A", 0)
	tokens, now, err := again.keeper.Inherited(t.Context())
	require.NoError(t, err)
	again.rows.Restore(tokens, now, true)
	require.InDelta(t, -19_000, tokens[database].Tokens, 1500)
	require.False(t, s.offer(again, 1))
	s.phase(time.Second)
	require.Greater(t, again.rows.Usage()[0].Debt, uint64(15_000))
}

// TestIdleBudgetsCostNothing asks the store for nothing when nothing is limited or used, and gives shares of idle budgets back.
func TestIdleBudgetsCostNothing(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 5, 1000)
	s.join("A", 0)
	b := s.join("B", 600)
	s.phase(20 * time.Second)
	require.NotZero(t, s.store.calls)
	b.demand = 0
	s.phase(quota.MaxIdle + 5*time.Second)
	calls := s.store.calls
	s.phase(time.Minute)
	require.Equal(t, calls, s.store.calls)
	require.Empty(t, s.store.budgets[budget].grants)
	require.Empty(t, b.rows.Usage(), "the next write begins with its part of a second")
}
