package allocate_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/quota/allocate"
)

// demand is a settled frontend: it has a share already, so that the gate does not count.
type demand struct {
	id   string
	load uint64
}

// settle repeats divisions, each frontend applying its share before the next, until nothing changes.
func settle(t require.TestingT, limit uint64, demands ...demand) []uint64 {
	s := allocate.State{Limit: limit}
	for range 50 {
		s.Reports = nil
		for _, d := range demands {
			quota := uint64(0)
			for _, g := range s.Grants {
				if g.Frontend == d.id {
					quota = g.Quota
				}
			}
			s.Reports = append(s.Reports, allocate.Report{Frontend: d.id, Load: d.load, Quota: quota})
		}
		next := allocate.Divide(s, allocate.Timing{})
		if !next.Changed {
			break
		}
		s.Grants, s.Divided = next.Grants, limit
	}
	out := make([]uint64, len(s.Grants))
	for i, g := range s.Grants {
		require.Equal(t, demands[i].id, g.Frontend)
		out[i] = g.Quota
	}
	return out
}

// TestIdealShares is the shares that the phases of the simulation lead to.
func TestIdealShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit   uint64
		demands []demand
		shares  []uint64
	}{
		{1000, []demand{{"A", 1500}, {"B", 300}, {"C", 50}}, []uint64{615, 330, 55}},
		{1000, []demand{{"A", 1500}, {"B", 300}, {"C", 800}}, []uint64{335, 330, 335}},
		{1000, []demand{{"A", 1500}, {"B", 300}, {"C", 800}, {"D", 600}}, []uint64{250, 250, 250, 250}},
		{1000, []demand{{"B", 800}, {"C", 1300}, {"D", 1100}}, []uint64{334, 333, 333}},
		{400, []demand{{"B", 800}, {"C", 1300}, {"D", 1100}}, []uint64{134, 133, 133}},
		{2000, []demand{{"B", 800}, {"C", 1300}, {"D", 1100}}, []uint64{667, 667, 666}},
		{2000, []demand{{"B", 0}, {"C", 1300}, {"D", 1100}}, []uint64{1, 1000, 999}},
		{2000, []demand{{"B", 0}, {"C", 1300}}, []uint64{285, 1715}},
		{2, []demand{{"A", 9}, {"B", 9}, {"C", 9}, {"D", 9}, {"E", 9}}, []uint64{1, 1, 1, 1, 1}},
		{1000, []demand{{"A", math.MaxUint64}}, []uint64{1000}},
		{1000, []demand{{"A", 0}, {"B", 0}, {"C", 0}}, []uint64{334, 333, 333}},
	} {
		require.Equal(t, c.shares, settle(t, c.limit, c.demands...), "%d among %v", c.limit, c.demands)
	}
}

// TestFill draws wants: shares sum up to the limit, the small are met, and those not met have equal shares.
func TestFill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.Uint64Range(1, 20), rapid.Uint64Range(1, math.MaxInt64)).Draw(t, "limit")
		wants := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(0, limit)), 1, 10).Draw(t, "wants")
		shares := allocate.Fill(limit, wants)
		sum, level := uint64(0), uint64(math.MaxUint64)
		for i, share := range shares {
			require.GreaterOrEqual(t, share, uint64(1))
			sum += share
			if share < wants[i] {
				level = min(level, share)
			}
		}
		if limit <= uint64(len(wants)) {
			require.Equal(t, uint64(len(wants)), sum)
			return
		}
		require.Equal(t, limit, sum)
		for i, share := range shares {
			if level != math.MaxUint64 {
				require.LessOrEqual(t, share, level+1, "more than one that lacks")
				require.LessOrEqual(t, share, max(wants[i], 1), "more than wanted while another lacks")
			}
		}
	})
}

// TestGate keeps the sum in force within the limit while shares move, whoever applies its share when.
func TestGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Uint64Range(10, 10_000).Draw(t, "limit")
		n := rapid.IntRange(1, 5).Draw(t, "frontends")
		s := allocate.State{Limit: limit, Divided: limit}
		inForce := make([]uint64, n)
		for i, share := range allocate.Fill(limit, make([]uint64, n)) {
			s.Grants = append(s.Grants, allocate.Grant{Frontend: fmt.Sprint(i), Quota: share})
			s.Reports = append(s.Reports, allocate.Report{Frontend: fmt.Sprint(i), Quota: share})
			inForce[i] = share
		}
		for range 30 {
			i := rapid.IntRange(0, n-1).Draw(t, "who")
			inForce[i] = s.Grants[i].Quota // applies, and then reports
			s.Reports[i].Quota = inForce[i]
			s.Reports[i].Load = rapid.Uint64Range(0, 2*limit).Draw(t, "load")
			s.Reports[i].Debt = rapid.Uint64Range(0, 1).Draw(t, "debt") * limit
			s.Grants = allocate.Divide(s, allocate.Timing{}).Grants
			sum := uint64(0)
			for k := range inForce {
				sum += max(inForce[k], s.Grants[k].Quota)
			}
			require.LessOrEqual(t, sum, limit)
		}
	})
}

// TestNewcomers are exempt from the gate, and want the whole limit until they have something to tell.
func TestNewcomers(t *testing.T) {
	t.Parallel()
	s := allocate.State{
		Limit: 1000, Divided: 1000,
		Reports: []allocate.Report{{Frontend: "A", Load: 1500, Quota: 1000}, {Frontend: "B", New: true}},
		Grants:  []allocate.Grant{{Frontend: "A", Quota: 1000}},
	}
	d := allocate.Divide(s, allocate.Timing{})
	require.Equal(t, []allocate.Grant{{Frontend: "A", Quota: 500}, {Frontend: "B", Quota: 500}}, d.Grants)
	require.True(t, d.Changed)

	// The same id with a new incarnation is a newcomer too.
	s.Reports = []allocate.Report{{Frontend: "A", Incarnation: 2, New: true}}
	require.Equal(t, []allocate.Grant{{Frontend: "A", Incarnation: 2, Quota: 1000}}, allocate.Divide(s, allocate.Timing{}).Grants)
}

// TestHysteresis keeps a division that would hardly move.
func TestHysteresis(t *testing.T) {
	t.Parallel()
	state := func(load, debt uint64) allocate.State {
		return allocate.State{
			Limit: 1000, Divided: 1000,
			Reports: []allocate.Report{{Frontend: "A", Load: 1500, Quota: 615}, {Frontend: "B", Load: load, Quota: 385, Debt: debt}},
			Grants:  []allocate.Grant{{Frontend: "A", Quota: 615}, {Frontend: "B", Quota: 385}},
		}
	}
	require.False(t, allocate.Divide(state(350, 0), allocate.Timing{}).Changed)
	require.False(t, allocate.Divide(state(333, 0), allocate.Timing{}).Changed, "366 of 385: below a fiftieth")
	require.True(t, allocate.Divide(state(330, 0), allocate.Timing{}).Changed)
	require.True(t, allocate.Divide(state(350, 10), allocate.Timing{}).Changed, "somebody is in debt")
	limit := state(350, 0)
	limit.Limit = 1001
	require.True(t, allocate.Divide(limit, allocate.Timing{}).Changed)
}

// TestDebtIsAnInput: an idle frontend that took a large batch gets its part of the limit to pay.
func TestDebtIsAnInput(t *testing.T) {
	t.Parallel()
	d := allocate.Divide(allocate.State{
		Limit: 1000, Divided: 1000,
		Reports: []allocate.Report{{Frontend: "A", Load: 1500, Quota: 500}, {Frontend: "B", Load: 0, Debt: 5000, Quota: 1}},
		Grants:  []allocate.Grant{{Frontend: "A", Quota: 999}, {Frontend: "B", Quota: 1}},
	}, allocate.Timing{})
	require.Equal(t, []allocate.Grant{{Frontend: "A", Quota: 500}, {Frontend: "B", Quota: 500}}, d.Grants)
}

// TestExpiry takes the share of a frontend that is silent for longer than others wait.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := allocate.State{
		Limit: 1000, Divided: 1000, Age: time.Second,
		Reports: []allocate.Report{{Frontend: "A", Load: 1500, Quota: 500, Age: 5 * time.Second}, {Frontend: "B", Load: 1500, Quota: 500}},
		Grants:  []allocate.Grant{{Frontend: "A", Quota: 500}, {Frontend: "B", Quota: 500}},
	}
	require.False(t, allocate.Divide(s, allocate.Timing{}).Changed)
	s.Reports[0].Age++
	require.Equal(t, []allocate.Grant{{Frontend: "B", Quota: 1000}}, allocate.Divide(s, allocate.Timing{}).Grants)
	s.Reports = nil
	require.Empty(t, allocate.Divide(s, allocate.Timing{}).Grants)
}

// TestLearning waits for frontends after the store was away: the first one back does not take all.
func TestLearning(t *testing.T) {
	t.Parallel()
	s := allocate.State{
		Limit: 1000, Divided: 1000, Age: time.Minute,
		Reports: []allocate.Report{
			{Frontend: "A", Load: 1500, Quota: 500},
			{Frontend: "B", Load: 1500, Quota: 300, Age: time.Minute},
			{Frontend: "C", New: true},
		},
		Grants: []allocate.Grant{{Frontend: "A", Quota: 500}, {Frontend: "B", Quota: 300}, {Frontend: "D", Quota: 200}},
	}
	d := allocate.Divide(s, allocate.Timing{})
	require.True(t, d.Learn)
	require.Equal(t, []allocate.Grant{
		{Frontend: "A", Quota: 250}, {Frontend: "B", Quota: 300}, {Frontend: "C", Quota: 250}, {Frontend: "D", Quota: 200},
	}, d.Grants)
	s.Grants, s.Age, s.Learning = d.Grants, time.Second, true
	d = allocate.Divide(s, allocate.Timing{})
	require.False(t, d.Learn)
	require.Len(t, d.Grants, 4)
	s.Learning = false
	d = allocate.Divide(s, allocate.Timing{})
	require.Len(t, d.Grants, 2, "it has waited long enough")
}

func TestLoad(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 1500, allocate.Load(100, 1500))
	require.EqualValues(t, 750, allocate.Load(1500, 0))
	require.EqualValues(t, 1000, allocate.Load(1500, 500))
	require.Equal(t, uint64(math.MaxUint64), allocate.Load(math.MaxUint64, math.MaxUint64))
	require.Zero(t, allocate.Load(1, 0))
}
