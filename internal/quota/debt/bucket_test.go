package debt_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/quota/debt"
)

var start = time.Date(2026, 3, 10, 10, 0, 0, 0, time.UTC)

// at returns the time some milliseconds after start.
func at(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }

// step is something done to a bucket at a time.
type step struct {
	ms    float64
	quota int64 // set before the rows are offered; -1 = as it is
	rows  int64
	ok    bool
}

// same keeps the quota.
const same = -1

func offer(b *debt.Bucket, rows int64, now time.Time) bool {
	if b.Wait(now) > 0 {
		return false
	}
	b.Take(rows, now)
	return true
}

// TestRules is every number of the rules of one bucket.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		quota uint64
		steps []step
	}{
		{"1: tables of a database share it", 1000, []step{
			{0, same, 600, true}, {0, same, 600, true}, {200, same, 1, false}, {200.999, same, 1, false}, {201, same, 1, true},
		}},
		{"2: starts full, holds one second", 1000, []step{
			{0, same, 1000, true}, {0, same, 1, false}, {0.999, same, 1, false}, {1, same, 1, true}, {1, same, 1, false},
		}},
		{"2: never more than one second", 1000, []step{{3_600_000, same, 1000, true}, {3_600_000, same, 1, false}}},
		{"3: one whole token, then the whole batch", 1000, []step{
			{0, same, 3000, true},
			{1999, same, 1, false},
			{2000, same, 1, false},
			{2000.999, same, 1, false},
			{2001, same, 3000, true},
			{5000, same, 1, false},
			{5000.999, same, 1, false},
			{5001, same, 1, true},
		}},
		{"4: a limit of 1", 1, []step{{0, same, 10, true}, {9_999.999999, same, 1, false}, {10_000, same, 1, true}}},
		{"4: a limit of 3", 3, []step{{0, same, 3, true}, {333, same, 1, false}, {333.333333, same, 1, false}, {333.333334, same, 1, true}}},
		{"4: a limit of 3 on a clock of milliseconds", 3, []step{{0, same, 3, true}, {333, same, 1, false}, {334, same, 1, true}}},
		{"9: no rows, no charge", 1000, []step{{0, same, 1000, true}, {1, same, 0, true}, {1, same, 1, true}}},
		{"10: raised in debt", 1000, []step{{0, same, 3000, true}, {500, 4000, 1, false}, {875, same, 1, false}, {876, same, 1, true}}},
		{"10: raised in debt, exact", 1000, []step{
			{0, same, 3000, true}, {500, 4000, 1, false}, {875.249999, same, 1, false}, {875.25, same, 1, true},
		}},
		{"10: lowered in debt", 1000, []step{{0, same, 3000, true}, {500, 100, 1, false}, {15_509.999, same, 1, false}, {15_510, same, 1, true}}},
		{"11: lowering cuts", 1000, []step{{0, 500, 500, true}, {0, same, 1, false}, {2, same, 1, true}}},
		{"11: raising gives nothing", 1000, []step{{0, 2000, 1000, true}, {0, same, 1, false}, {0.5, same, 1, true}}},
		{"12: off and on in one instant", 1000, []step{
			{0, same, 3000, true}, {0, 0, 0, true}, {0, 1000, 1, false}, {2000.999, same, 1, false}, {2001, same, 1, true},
		}},
		{"12: the clock stands still while off", 1000, []step{
			{0, same, 3000, true},
			{500, 0, 5000, true},
			{600, same, 5000, true},
			{30_000, same, 5000, true},
			{60_000, 1000, 1, false},
			{61_500.999, same, 1, false},
			{61_501, same, 1, true},
		}},
		{"15: an allocation", 250, []step{{0, same, 3000, true}, {11_003.999, same, 1, false}, {11_004, same, 1, true}}},
		{"13: above what an int64 holds", math.MaxUint64, []step{{0, same, math.MaxInt64, true}, {1, same, 1, true}}},
		{"time never runs back", 1000, []step{
			{1000, same, 1000, true}, {0, same, 1, false}, {1000, same, 1, false}, {1001, same, 1, true}, {1001, same, 1, false},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := debt.Full(c.quota, start)
			for i, s := range c.steps {
				if s.quota != same {
					b.SetQuota(uint64(s.quota), at(s.ms))
				}
				if s.rows == 0 {
					b.Take(0, at(s.ms))
					continue
				}
				require.Equal(t, s.ok, offer(&b, s.rows, at(s.ms)), "step %d at %v ms, %d tokens", i, s.ms, b.Tokens(at(s.ms)))
			}
		})
	}
}

// TestRefusedTriesCostNothing is rule 5.
func TestRefusedTriesCostNothing(t *testing.T) {
	t.Parallel()
	b := debt.Full(1000, start)
	require.True(t, offer(&b, 3000, start))
	for i := range 100 {
		require.False(t, offer(&b, 5000, at(float64(20*(i+1)))))
	}
	require.False(t, offer(&b, 1, at(2000.999)))
	require.True(t, offer(&b, 1, at(2001)))
}

func TestWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quota  uint64
		tokens int64
		wait   time.Duration
	}{
		{1000, 1, 0},
		{1000, 0, time.Millisecond},
		{1000, -2000, 2001 * time.Millisecond},
		{250, -2750, 11004 * time.Millisecond},
		{3, 0, 333_333_334},
		{1, -9, 10 * time.Second},
		{0, -9, 0},
		{1, -debt.MaxDebt, math.MaxInt64},
		{math.MaxUint64, 0, 1},
		{1 << 40, -1 << 50, 1024*time.Second + 1},
	} {
		b := debt.With(c.quota, c.tokens, start)
		require.Equal(t, c.wait, b.Wait(start), "quota %d, tokens %d", c.quota, c.tokens)
	}
}

func TestDebtStopsGrowing(t *testing.T) {
	t.Parallel()
	b := debt.Full(1, start)
	b.Take(math.MaxInt64, start)
	require.EqualValues(t, -debt.MaxDebt, b.Tokens(start))
	b.Take(math.MaxInt64, start)
	require.EqualValues(t, -debt.MaxDebt, b.Tokens(start))
	b.SetQuota(math.MaxUint64, start)
	require.EqualValues(t, math.MaxInt64, b.Tokens(start.Add(time.Hour)), "a refill beyond uint64 fills")
	require.True(t, b.IsFull(start.Add(time.Hour)))
}

// model is a bucket in fractions.
type model struct {
	quota  *big.Rat
	tokens *big.Rat
	last   time.Time
}

func (m *model) advance(now time.Time) {
	if elapsed := now.Sub(m.last); elapsed > 0 {
		m.last = now
		m.tokens.Add(m.tokens, new(big.Rat).Mul(m.quota, big.NewRat(int64(elapsed), 1_000_000_000)))
	}
	m.cap()
}

func (m *model) cap() {
	if m.quota.Sign() > 0 && m.tokens.Cmp(m.quota) > 0 {
		m.tokens.Set(m.quota)
	}
	if least := big.NewRat(-debt.MaxDebt, 1); m.tokens.Cmp(least) < 0 {
		m.tokens.Set(least)
	}
}

// TestLikeFractions draws requests, pauses, clocks that run back and changes of the quota, and compares with a bucket of fractions.
func TestLikeFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quotas := rapid.OneOf(rapid.Uint64Range(0, 10), rapid.Uint64Range(0, 1<<20), rapid.Uint64Range(0, math.MaxInt64))
		sizes := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, 1<<21), rapid.Int64Range(1, math.MaxInt64))
		pauses := rapid.OneOf(rapid.Int64Range(-1000, 1000), rapid.Int64Range(0, int64(time.Second)), rapid.Int64Range(0, int64(1000*time.Hour)))
		rat := func(n uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(n)) }
		quota := max(1, quotas.Draw(t, "quota"))
		b := debt.Full(quota, start)
		m := &model{quota: rat(quota), tokens: rat(quota), last: start}
		now := start
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(pauses.Draw(t, "pause")))
			m.advance(now)
			if rapid.IntRange(0, 4).Draw(t, "change") == 0 {
				quota = quotas.Draw(t, "new quota")
				b.SetQuota(quota, now)
				m.quota = rat(quota)
				m.cap()
			}
			rows := sizes.Draw(t, "rows")
			ok := quota == 0 || m.tokens.Cmp(big.NewRat(1, 1)) >= 0
			wait := b.Wait(now)
			require.Equal(t, ok, wait == 0, "tokens %s", m.tokens.FloatString(9))
			if !ok && wait < math.MaxInt64/2 {
				after := new(big.Rat).Add(m.tokens, new(big.Rat).Mul(m.quota, big.NewRat(int64(wait), 1_000_000_000)))
				require.GreaterOrEqual(t, after.Cmp(big.NewRat(1, 1)), 0, "the wait is too short")
				before := new(big.Rat).Add(m.tokens, new(big.Rat).Mul(m.quota, big.NewRat(int64(wait)-1, 1_000_000_000)))
				require.Negative(t, before.Cmp(big.NewRat(1, 1)), "the wait is too long")
			}
			if ok {
				b.Take(rows, now)
				if quota > 0 {
					m.tokens.Sub(m.tokens, big.NewRat(rows, 1))
					m.cap()
				}
			}
			floor := new(big.Int).Div(m.tokens.Num(), m.tokens.Denom()) // Euclidean: rounds down
			require.Equal(t, floor.Int64(), b.Tokens(now))
		}
	})
}
