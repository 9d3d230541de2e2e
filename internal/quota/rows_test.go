package quota_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
)

// limits are limits that a test changes.
type limits map[quota.Database]quota.RowLimit

func (l limits) of(d quota.Database) quota.RowLimit { return l[d] }

// Databases of the tests.
var (
	logs  = quota.Database{Org: "acme", Name: "logs"}
	other = quota.Database{Org: "acme", Name: "other"}
	twin  = quota.Database{Org: "rival", Name: "logs"}
)

// newRows returns buckets with a limit of logs.
func newRows(limit uint64, o quota.RowsOptions) (*quota.Rows, *clock.Fake, limits) {
	c := clock.NewFake(start)
	l := limits{logs: {PerSecond: limit}}
	o.Clock, o.Limit = c, l.of
	return quota.NewRows(o), c, l
}

func admit(r *quota.Rows, d quota.Database, rows int64) error {
	return r.Admit(context.Background(), quota.Charge{Database: d, Rows: rows})
}

// move sets the clock to some milliseconds after start.
func move(c *clock.Fake, ms float64) {
	c.Advance(start.Add(time.Duration(ms * float64(time.Millisecond))).Sub(c.Now()))
}

func requireRefused(t require.TestingT, err error, wait time.Duration) {
	refused, ok := errors.AsType[*quota.RowsRefused](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, wait, refused.Wait)
	require.True(t, fault.Is(err, fault.Limited))
}

// TestDatabasesDoNotInteract is rule 1: one bucket a database, and none beyond.
func TestDatabasesDoNotInteract(t *testing.T) {
	t.Parallel()
	r, c, l := newRows(1000, quota.RowsOptions{})
	l[other], l[twin] = quota.RowLimit{PerSecond: 10}, quota.RowLimit{PerSecond: 20}
	require.NoError(t, admit(r, logs, 600))
	require.NoError(t, admit(r, logs, 600))
	requireRefused(t, admit(r, logs, 1), 201*time.Millisecond)
	require.NoError(t, admit(r, other, 10))
	require.NoError(t, admit(r, twin, 20))
	requireRefused(t, admit(r, other, 1), 100*time.Millisecond)
	requireRefused(t, admit(r, twin, 1), 50*time.Millisecond)
	require.NoError(t, admit(r, quota.Database{Org: "acme", Name: "free"}, math.MaxInt64))
	move(c, 201)
	require.NoError(t, admit(r, logs, 1))
}

// TestTwoDatabases is rule 7: test both, charge both or none.
func TestTwoDatabases(t *testing.T) {
	t.Parallel()
	r, c, l := newRows(1000, quota.RowsOptions{})
	l[other] = quota.RowLimit{PerSecond: 1}
	both := func() error {
		return r.Admit(t.Context(), quota.Charge{Database: logs, Rows: 1000}, quota.Charge{Database: other, Rows: 3})
	}
	require.NoError(t, both())
	require.Error(t, both())
	c.Advance(time.Second)
	err := both()
	requireRefused(t, err, 2*time.Second)
	require.Contains(t, fault.Message(err), `database "other"`)
	require.NoError(t, admit(r, logs, 1000), "the refused request took nothing of the other database")
}

// TestInternalWritesAreExempt is rule 8.
func TestInternalWritesAreExempt(t *testing.T) {
	t.Parallel()
	r, c, _ := newRows(1000, quota.RowsOptions{})
	internal := quota.Internal(t.Context())
	require.NoError(t, admit(r, logs, 3000))
	require.NoError(t, r.Admit(internal, quota.Charge{Database: logs, Rows: 10_000}))
	require.False(t, r.Limited(internal, logs))
	require.True(t, r.Limited(t.Context(), logs))
	move(c, 2000)
	require.Error(t, admit(r, logs, 1))
	move(c, 2001)
	require.NoError(t, admit(r, logs, 1))
}

// TestLimitChanges is rules 10 to 12 through the limit that is asked at each request, and through Refresh where nothing is written.
func TestLimitChanges(t *testing.T) {
	t.Parallel()
	set := func(l limits, n uint64) { l[logs] = quota.RowLimit{PerSecond: n} }

	r, c, l := newRows(1000, quota.RowsOptions{})
	require.NoError(t, admit(r, logs, 3000))
	move(c, 500)
	set(l, 4000)
	require.Error(t, admit(r, logs, 1))
	move(c, 875.249999)
	require.Error(t, admit(r, logs, 1))
	move(c, 875.25)
	require.NoError(t, admit(r, logs, 1))

	r, c, l = newRows(1000, quota.RowsOptions{})
	require.NoError(t, admit(r, logs, 3000))
	move(c, 500)
	set(l, 0)
	r.Refresh() // seen although nothing is written
	move(c, 1000)
	for range 10 {
		require.NoError(t, admit(r, logs, 5000))
	}
	require.False(t, r.Limited(t.Context(), logs))
	move(c, 60_000)
	set(l, 1000)
	r.Refresh()
	require.Error(t, admit(r, logs, 1))
	move(c, 61_500.999)
	require.Error(t, admit(r, logs, 1))
	move(c, 61_501)
	require.NoError(t, admit(r, logs, 1))

	r, c, l = newRows(1000, quota.RowsOptions{})
	require.NoError(t, admit(r, logs, 3000))
	set(l, 0)
	r.Refresh()
	set(l, 1000)
	r.Refresh()
	move(c, 2000.999)
	require.Error(t, admit(r, logs, 1), "off and on in one instant")
	move(c, 2001)
	require.NoError(t, admit(r, logs, 1))
}

// TestALaterDatabaseOwesNothing makes a database of the same name.
func TestALaterDatabaseOwesNothing(t *testing.T) {
	t.Parallel()
	r, _, l := newRows(0, quota.RowsOptions{})
	l[logs] = quota.RowLimit{PerSecond: 1000, ID: 1}
	require.NoError(t, admit(r, logs, 1_000_000))
	require.Error(t, admit(r, logs, 1))
	l[logs] = quota.RowLimit{PerSecond: 1000, ID: 2}
	require.NoError(t, admit(r, logs, 1))
}

// TestShares is rule 15: quota = min(allocation, limit), at least 1, the limit before the first allocation.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share        quota.Share
		limit, quota uint64
	}{
		{quota.Share{}, 1000, 1000},
		{quota.Share{Quota: 250, Limit: 1000}, 1000, 250},
		{quota.Share{Quota: 0, Limit: 1000}, 1000, 1},
		{quota.Share{Quota: 5000, Limit: 1000}, 1000, 1000},
		{quota.Share{Quota: 250, Limit: 1000}, 400, 100},
		{quota.Share{Quota: 250, Limit: 1000}, 2000, 500},
		{quota.Share{Quota: 1, Limit: 1000}, 10, 1},
		{quota.Share{Quota: 333, Limit: 1000}, 400, 133},
		{quota.Share{Quota: math.MaxUint64, Limit: 1}, math.MaxUint64, math.MaxUint64},
	} {
		require.Equal(t, c.quota, c.share.Of(c.limit), "%+v of %d", c.share, c.limit)
	}
	r, clk, _ := newRows(1000, quota.RowsOptions{})
	require.NoError(t, admit(r, logs, 0))
	require.NoError(t, admit(r, logs, 1))
	r.Apply(quota.Budget{Kind: quota.KindRows, Org: logs.Org, Database: logs.Name}, quota.Share{Epoch: 1, Quota: 250, Limit: 1000})
	require.NoError(t, admit(r, logs, 3000))
	requireRefused(t, admit(r, logs, 3000), 11_004*time.Millisecond)
	move(clk, 11_003.999)
	require.Error(t, admit(r, logs, 3000))
	move(clk, 11_004)
	require.NoError(t, admit(r, logs, 3000))
}

// TestDelayOfAnIdleFrontend: the text tells what the tiny share of now would take, the delay what the debt will lead to.
func TestDelayOfAnIdleFrontend(t *testing.T) {
	t.Parallel()
	r, _, _ := newRows(1000, quota.RowsOptions{Frontends: func() int { return 4 }})
	require.NoError(t, admit(r, logs, 1))
	r.Apply(quota.Budget{Kind: quota.KindRows, Org: logs.Org, Database: logs.Name}, quota.Share{Epoch: 1, Quota: 1, Limit: 1000})
	require.NoError(t, admit(r, logs, 501))
	err := admit(r, logs, 1)
	requireRefused(t, err, 501*time.Second)
	require.Equal(t, 2*time.Second+501*4*time.Millisecond, fault.RetryAfter(err))
	r.Apply(quota.Budget{Kind: quota.KindRows, Org: logs.Org, Database: logs.Name}, quota.Share{Epoch: 2, Quota: 500, Limit: 1000})
	require.Equal(t, 1002*time.Millisecond, fault.RetryAfter(admit(r, logs, 1)))
}

// TestRefusalHasFourFacts is rule 18.
func TestRefusalHasFourFacts(t *testing.T) {
	t.Parallel()
	r, _, _ := newRows(1000, quota.RowsOptions{})
	require.NoError(t, admit(r, logs, 1))
	r.Apply(quota.Budget{Kind: quota.KindRows, Org: logs.Org, Database: logs.Name}, quota.Share{Quota: 250, Limit: 1000})
	require.NoError(t, admit(r, logs, 750))
	err := admit(r, logs, 3000)
	require.Equal(t, `database "logs": 3000 rows refused, quota 250 rows/s, limit 1000 rows/s (ingest_rows_rate_limit), retry in 2.004s`,
		fault.Message(err))
	refused, _ := errors.AsType[*quota.RowsRefused](err)
	require.Equal(t, 6001, refused.StatusCode())
	require.Equal(t, []uint64{3000, 250, 1000}, []uint64{uint64(refused.Rows), refused.Quota, refused.Limit})
	require.Equal(t, 2004*time.Millisecond, fault.RetryAfter(err))

	r, _, _ = newRows(1, quota.RowsOptions{})
	require.NoError(t, admit(r, logs, 1_000_000))
	err = admit(r, logs, 1)
	require.Equal(t, quota.MaxRetryAfter, fault.RetryAfter(err), "what clients are told is bounded")
	require.Contains(t, fault.Message(err), "retry in 277h46m40s")
}

// TestFreshFrontend begins with its part of a second.
func TestFreshFrontend(t *testing.T) {
	t.Parallel()
	r, _, _ := newRows(1000, quota.RowsOptions{Frontends: func() int { return 4 }})
	require.NoError(t, admit(r, logs, 250))
	requireRefused(t, admit(r, logs, 1), time.Millisecond)
	r, _, _ = newRows(2, quota.RowsOptions{Frontends: func() int { return 5 }})
	require.NoError(t, admit(r, logs, 1), "at least one token")
	require.Error(t, admit(r, logs, 1))
}

// TestRestart writes buckets down and begins with them: debts are paid while the process is away.
func TestRestart(t *testing.T) {
	t.Parallel()
	r, _, l := newRows(1000, quota.RowsOptions{})
	l[other] = quota.RowLimit{PerSecond: 1000}
	require.NoError(t, admit(r, logs, 3000))
	require.NoError(t, admit(r, twin, 5))
	saved := r.Saved(start)
	require.Equal(t, map[quota.Database]quota.Tokens{logs: {Limit: 1000, Quota: 1000, Tokens: -2000, At: start}}, saved)

	again, c, _ := newRows(1000, quota.RowsOptions{})
	again.Restore(saved, start.Add(500*time.Millisecond), false)
	require.Error(t, admit(again, logs, 1))
	require.EqualValues(t, -1500, again.Saved(start)[logs].Tokens)
	move(c, 1500.999)
	require.Error(t, admit(again, logs, 1))
	move(c, 1501)
	require.NoError(t, admit(again, logs, 1))

	// A database that nobody asks for yet stays written down, and pays on.
	idle, c, _ := newRows(1000, quota.RowsOptions{})
	idle.Restore(saved, start, false)
	move(c, 1000)
	require.EqualValues(t, -1000, idle.Saved(start)[logs].Tokens)
	move(c, 60_000)
	require.Empty(t, idle.Saved(start))

	// Told twice, the one with less counts; a clock that ran back pays nothing.
	twice, _, _ := newRows(1000, quota.RowsOptions{})
	twice.Restore(map[quota.Database]quota.Tokens{logs: {Quota: 1000, Tokens: 5, At: start}}, start, false)
	twice.Restore(saved, start.Add(-time.Hour), false)
	require.EqualValues(t, -2000, twice.Saved(start)[logs].Tokens)

	// After a crash nothing is known of what is not written down.
	crashed, c, _ := newRows(1000, quota.RowsOptions{})
	crashed.Restore(nil, start, true)
	requireRefused(t, admit(crashed, logs, 1), time.Millisecond)
	move(c, 1)
	require.NoError(t, admit(crashed, logs, 1))
}

// TestRollingRestarts restarts a process again and again within ten seconds, under pressure: in all it admits at most one bucket, the
// rate times the time, and one batch.
func TestRollingRestarts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 1000
		c := clock.NewFake(start)
		saved := map[quota.Database]quota.Tokens{}
		batch := rapid.Int64Range(1, 5000).Draw(t, "batch")
		admitted := int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "restarts") {
			r := quota.NewRows(quota.RowsOptions{Clock: c, Limit: limits{logs: {PerSecond: limit}}.of})
			r.Restore(saved, c.Now(), false)
			for range rapid.IntRange(0, 5).Draw(t, "tries") {
				for admit(r, logs, batch) == nil {
					admitted += batch
				}
				c.Advance(time.Duration(rapid.Int64Range(0, int64(100*time.Millisecond)).Draw(t, "pause")))
			}
			saved = r.Saved(c.Now())
			c.Advance(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "away")))
		}
		elapsed := c.Now().Sub(start)
		require.LessOrEqual(t, admitted, limit+int64(elapsed)*limit/int64(time.Second)+batch)
	})
}

// TestWanted tells when a division is needed soon.
func TestWanted(t *testing.T) {
	t.Parallel()
	var wanted []quota.Budget
	budget := quota.Budget{Kind: quota.KindRows, Org: logs.Org, Database: logs.Name}
	r, _, l := newRows(1000, quota.RowsOptions{Wanted: func(b quota.Budget) { wanted = append(wanted, b) }})
	require.NoError(t, admit(r, logs, 1))
	require.Equal(t, []quota.Budget{budget}, wanted, "the first write")
	r.Apply(budget, quota.Share{Epoch: 1, Quota: 500, Limit: 1000})
	wanted = nil
	require.NoError(t, admit(r, logs, 100))
	require.Empty(t, wanted)
	require.NoError(t, admit(r, logs, 2000))
	require.Len(t, wanted, 1, "a debt of more than a second")
	l[logs] = quota.RowLimit{PerSecond: 400}
	r.Refresh()
	require.Len(t, wanted, 2, "another limit")
	u := r.Usage()
	require.Len(t, u, 1)
	require.Equal(t, quota.Usage{Budget: budget, Limit: 400, Quota: 200, Epoch: 1, Accepted: 2101, Debt: 1600}, u[0])
}

// TestNoStateStays forgets databases that are full, off or gone, but not debts.
func TestNoStateStays(t *testing.T) {
	t.Parallel()
	r, c, l := newRows(1000, quota.RowsOptions{})
	l[other] = quota.RowLimit{PerSecond: 10}
	require.NoError(t, admit(r, logs, 3000))
	require.NoError(t, admit(r, other, 1))
	delete(l, logs)
	r.Refresh()
	c.Advance(2 * quota.MaxIdle)
	r.Refresh()
	require.Len(t, r.Usage(), 1, "the one that is full is forgotten, the debt is not")
	require.EqualValues(t, 2000, r.Usage()[0].Debt)
}

func TestConcurrentWritersPassOnOneToken(t *testing.T) {
	t.Parallel()
	r, _, _ := newRows(10, quota.RowsOptions{})
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		admitted int
	)
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if admit(r, logs, 5) == nil {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 2, admitted)
}

func TestRowMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	r, _, _ := newRows(1000, quota.RowsOptions{Registerer: reg})
	require.NoError(t, admit(r, logs, 3000))
	require.Error(t, admit(r, logs, 7))
	values := map[string]float64{}
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		m := f.GetMetric()[0]
		values[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	require.Equal(t, map[string]float64{
		"millstream_quota_limit": 1000, "millstream_quota_allocation": 1000, "millstream_quota_debt": 2000, "millstream_quota_refused_total": 7,
	}, values)
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
}
