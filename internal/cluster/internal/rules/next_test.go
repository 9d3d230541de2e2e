package rules_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/internal/rules"
)

// model is a cluster of some processes, a database and readers, in which anything may happen at any time.
type model struct {
	t      *rapid.T
	timing rules.Timing
	now    time.Time
	record rules.Record
	rows   map[string]rules.Row
	known  []int64 // epoch of each reader
	texts  map[int64]string

	lookedAt time.Time // when somebody last looked
	calm     time.Time // since when nobody has left a gap
	surely   time.Time // since when nobody has left what may be taken for one: the record's time of looking lags by a Touch
}

func newModel(t *rapid.T) *model {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return &model{
		t: t, timing: rules.Timing{PeerTimeout: 15 * time.Second}, now: start,
		record: rules.Record{Algo: cluster.Algo, ObservedAt: start, ReachableSince: start},
		rows:   map[string]rules.Row{}, known: make([]int64, 3), texts: map[int64]string{}, lookedAt: start, calm: start, surely: start,
	}
}

// observe lets a reader look and checks what must hold of every look.
func (m *model) observe(reader int) {
	if m.now.Sub(m.lookedAt) > m.timing.Gap() {
		m.calm = m.now
	}
	if m.now.Sub(m.lookedAt) > m.timing.Gap()-m.timing.Touch() {
		m.surely = m.now
	}
	m.lookedAt = m.now
	var rows []rules.Row
	for _, r := range m.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b rules.Row) int { return cmp.Compare(a.Node.ID, b.Node.ID) })
	before := m.record
	next, write := rules.Next(before, rows, m.now, m.timing, m.known[reader])
	again, _ := rules.Next(next, rows, m.now, m.timing, m.known[reader])
	require.Equal(m.t, next, again, "looking twice is looking once")
	require.GreaterOrEqual(m.t, next.Epoch, m.known[reader])
	if next.Epoch != before.Epoch {
		require.True(m.t, write)
		require.Greater(m.t, next.Epoch, before.Epoch)
	}
	m.record, m.known[reader] = next, next.Epoch
	text, err := json.Marshal(next.View())
	require.NoError(m.t, err)
	if old, seen := m.texts[next.Epoch]; seen {
		require.Equal(m.t, old, string(text), "one epoch is one view")
	}
	m.texts[next.Epoch] = string(text)
	m.checkLists(before, next)
}

// checkLists holds who came and went against the rows.
func (m *model) checkLists(before, next rules.Record) {
	old, now := before.View(), next.View()
	after := func(calm time.Time) bool { return m.now.Sub(calm) >= m.timing.PeerTimeout }
	for _, role := range cluster.Roles() {
		for _, n := range old.Members[role] {
			r, exists := m.rows[n.ID]
			silent := m.now.Sub(r.ReadyAt) > m.timing.PeerTimeout
			gone := !exists || r.ReadyAt.IsZero() || !slices.Contains(r.Node.MemberOf(), role)
			if now.IsMember(role, n.ID) {
				require.False(m.t, gone || silent && after(m.surely), "%s: %s stays a member of %s", m.now, n.ID, role)
			} else {
				require.True(m.t, gone || silent && after(m.calm), "%s: %s is no longer a member of %s", m.now, n.ID, role)
			}
		}
		for _, n := range now.Members[role] {
			r := m.rows[n.ID]
			require.False(m.t, r.ReadyAt.IsZero(), "a member has been ready")
			if !old.IsMember(role, n.ID) {
				require.True(m.t, r.Ready, "nobody joins who is not ready")
				require.LessOrEqual(m.t, m.now.Sub(r.ReadyAt), m.timing.PeerTimeout, "nobody joins in silence")
			}
		}
		if len(now.Members[role]) == 0 {
			for _, n := range now.Joining[role] {
				able := m.rows[n.ID].Ready && m.now.Sub(m.rows[n.ID].ReadyAt) <= m.timing.PeerTimeout
				require.False(m.t, able, "%s waits although nobody works", n.ID)
			}
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		roles := rapid.SampledFrom([][]cluster.Role{
			{cluster.RoleIntake}, {cluster.RoleIntake, cluster.RoleCompactor}, {cluster.RoleRouter}, {cluster.RoleStandalone},
		})
		incarnation := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				incarnation++
				id := ids.Draw(t, "id")
				r := m.rows[id] // a restart in time finds its last ready heartbeat
				r.Ready = false
				r.Node = cluster.Node{ID: id, Incarnation: incarnation, Roles: roles.Draw(t, "roles"), Address: fmt.Sprint(id, ":", incarnation)}
				m.rows[id] = r
			},
			"ready": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				if r, ok := m.rows[id]; ok {
					r.Ready, r.ReadyAt = true, m.now
					m.rows[id] = r
				}
			},
			"all ready": func(*rapid.T) {
				for id, r := range m.rows {
					r.Ready, r.ReadyAt = true, m.now
					m.rows[id] = r
				}
			},
			"unready": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				if r, ok := m.rows[id]; ok {
					r.Ready, r.ReadyAt = false, time.Time{}
					m.rows[id] = r
				}
			},
			"leave": func(t *rapid.T) { delete(m.rows, ids.Draw(t, "id")) },
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(1, int64(4*time.Second)).Draw(t, "time")))
			},
			"look and wait": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "looks") {
					m.now = m.now.Add(time.Second)
					m.observe(0)
				}
			},
			"outage": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "time")))
			},
			"look": func(t *rapid.T) { m.observe(rapid.IntRange(0, len(m.known)-1).Draw(t, "reader")) },
		})
	})
}

// TestAnOutageOfTheDatabase goes through a cluster's life by the worst allowed pace of heartbeats and looks, with an outage of any
// length in it: nobody moves.
func TestAnOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		const tick = 500 * time.Millisecond
		var (
			ids    = []string{"a", "b", "c"}
			beats  = m.timing.PeerTimeout / 2
			looks  = m.timing.PeerTimeout / 5
			retry  = m.timing.PeerTimeout / 10
			next   = map[string]time.Time{}
			look   = m.now
			away   = m.now.Add(time.Duration(rapid.Int64Range(int64(40*time.Second), int64(60*time.Second)).Draw(t, "begin")))
			back   = away.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "length")))
			before int64
		)
		for i, id := range ids {
			m.rows[id] = rules.Row{Node: cluster.Node{ID: id, Incarnation: 1, Roles: []cluster.Role{cluster.RoleIntake}}}
			next[id] = m.now.Add(beats * time.Duration(i) / 3)
		}
		for end := back.Add(40 * time.Second); m.now.Before(end); m.now = m.now.Add(tick) {
			reachable := m.now.Before(away) || !m.now.Before(back)
			for _, id := range ids {
				if m.now.Before(next[id]) {
					continue
				}
				next[id] = m.now.Add(retry)
				if reachable {
					r := m.rows[id]
					r.Ready, r.ReadyAt, next[id] = true, m.now, m.now.Add(beats)
					m.rows[id] = r
				}
			}
			if reachable && !m.now.Before(look) {
				m.observe(0)
				look = m.now.Add(looks)
			}
			if m.now.Before(away) {
				before = m.record.Epoch
			}
		}
		require.Equal(t, before, m.record.Epoch)
		require.Len(t, m.record.View().Members[cluster.RoleIntake], len(ids))
	})
}
