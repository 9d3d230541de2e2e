package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// topology is the document of one epoch.
type topology struct {
	Epoch   int64
	Intakes []string
	Owners  struct{ Enc, Data string }
	raw     map[string]any
}

func readTopology(ctx context.Context, n *mscluster.Node) (topology, error) {
	var t topology
	res, err := n.Client("").Do(ctx, http.MethodGet, "/api/v1/cluster/topology", nil)
	if err != nil {
		return t, err
	}
	if err := errors.Join(json.Unmarshal(res.Body, &t), json.Unmarshal(res.Body, &t.raw)); err != nil {
		return t, err
	}
	delete(t.raw, "viewAt")
	return t, nil
}

// owners returns the id of each slot's owner.
func (t topology) owners(tt *testing.T) []string {
	tt.Helper()
	require.Equal(tt, "u8+base64", t.Owners.Enc)
	data, err := base64.StdEncoding.DecodeString(t.Owners.Data)
	require.NoError(tt, err)
	require.Len(tt, data, 16384)
	out := make([]string, len(data))
	for i, o := range data {
		out[i] = t.Intakes[o]
	}
	return out
}

// TestANodeMovesOnlyItsOwnSlots adds an intake, stops another in order and kills a third; both routers agree on every epoch.
func TestANodeMovesOnlyItsOwnSlots(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, mscluster.Layout{Routers: 2, Intakes: 3})
	agreed := watchAgreement(t, c.Routers)
	read := func() []string {
		c.WaitMembers(t)
		doc, err := readTopology(t.Context(), c.Routers[0])
		require.NoError(t, err)
		return doc.owners(t)
	}
	before := read()
	added := c.New(t, "i4", "intake")
	c.Intakes = append(c.Intakes, added)
	require.NoError(t, added.Start(t.Context()))
	after := read()
	gained := 0
	for slot, owner := range after {
		if owner != before[slot] {
			require.Equal(t, "i4", owner, "slot %d moved between old nodes", slot)
			gained++
		}
	}
	require.InDelta(t, 16384/4, gained, 16384/20)

	for name, leave := range map[string]func(n *mscluster.Node){
		"i2": func(n *mscluster.Node) { n.Stop() },
		"i1": func(n *mscluster.Node) { n.Kill() },
	} {
		before := read()
		for _, n := range c.Intakes {
			if n.ID == name {
				leave(n)
			}
		}
		for slot, owner := range read() {
			require.NotEqual(t, name, owner)
			if before[slot] != name {
				require.Equal(t, before[slot], owner, "slot %d moved though its owner stayed", slot)
			}
		}
	}
	require.Greater(t, agreed(), 4)
}

// watchAgreement reads the document of all routers until the returned function is called, which returns how many epochs were seen.
func watchAgreement(t *testing.T, routers []*mscluster.Node) (epochs func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(map[int64]map[string]any)
	var mu sync.Mutex
	var problems []string
	var work sync.WaitGroup
	for _, r := range routers {
		work.Go(func() {
			for ctx.Err() == nil {
				doc, err := readTopology(ctx, r)
				if err != nil {
					continue // it is being stopped
				}
				mu.Lock()
				if old, ok := seen[doc.Epoch]; !ok {
					seen[doc.Epoch] = doc.raw
				} else if fmt.Sprint(old) != fmt.Sprint(doc.raw) {
					problems = append(problems, fmt.Sprintf("epoch %d has two documents:\n%v\n%v", doc.Epoch, old, doc.raw))
				}
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	t.Cleanup(func() { cancel(); work.Wait() })
	return func() int {
		cancel()
		work.Wait()
		require.Empty(t, problems)
		return len(seen)
	}
}

// gauge returns the value of a series of a node's metrics, 0 when it is not there.
func gauge(ctx context.Context, n *mscluster.Node, series string) (float64, error) {
	res, err := n.Client("").Do(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(res.Body))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), series+" "); ok {
			return strconv.ParseFloat(rest, 64)
		}
	}
	return 0, nil
}

// owned returns how many units of a kind of work each running compactor says that it owns, and their sum.
func owned(ctx context.Context, c *mscluster.Cluster, kind string) (sum float64, each []float64, err error) {
	for _, n := range c.Compactors {
		if !n.Running() {
			continue
		}
		v, err := gauge(ctx, n, fmt.Sprintf("work_ownership_owned_units{work=%q}", kind))
		if err != nil {
			return 0, nil, err
		}
		sum, each = sum+v, append(each, v)
	}
	return sum, each, nil
}

// TestOwnedUnitsAddUp: over stable members each dataset and each org is one compactor's, and while members change never two's.
func TestOwnedUnitsAddUp(t *testing.T) {
	t.Parallel()
	const datasets, orgs = 40, 8
	units := map[string]float64{"compaction": datasets, "partition_manifest": datasets, "index_rebuild": orgs, "storage_reconciler": orgs}
	c := mscluster.Start(t, mscluster.Layout{Routers: 1, Intakes: 1, Compactors: 2, Env: map[string]string{
		"MS_INTAKE_FLUSH_INTERVAL_SECS": "1", "MS_COMPACTOR_INTERVAL_SECS": "1",
	}})
	for i := range datasets {
		res := c.Routers[0].Client(fmt.Sprint("t", i%orgs)).Post(t, fmt.Sprintf("/api/v1/intake/logs/s%d", i), `[{"n":1}]`)
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	}
	addUp := func(nodes int) {
		t.Helper()
		require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
			for kind, want := range units {
				sum, each, err := owned(ctx, c, kind)
				if err == nil && (sum != want || len(each) != nodes) {
					err = fmt.Errorf("%s: %v units on %d nodes", kind, each, len(each))
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	addUp(2)
	began := time.Now()
	c.Compactors[0].Kill()
	addUp(1)
	t.Logf("taken over %v after a kill", time.Since(began).Round(100*time.Millisecond))
	require.NoError(t, c.Compactors[0].Start(t.Context()))
	addUp(2)
	began = time.Now()
	c.Compactors[1].Stop()
	addUp(1)
	t.Logf("taken over %v after a clean exit began", time.Since(began).Round(100*time.Millisecond))

	added := c.New(t, "c3", "compactor")
	c.Compactors = append(c.Compactors, added)
	require.NoError(t, added.Start(t.Context()))
	gap := false
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		sum, each, err := owned(ctx, c, "compaction")
		gap = gap || sum < datasets
		if err == nil && (sum != datasets || len(each) != 2 || each[1] == 0) {
			err = fmt.Errorf("%v units", each)
		}
		return err
	}))
	require.True(t, gap, "the new node's share waits until it works")
	for _, n := range []*mscluster.Node{c.Compactors[0], added} {
		v, err := gauge(t.Context(), n, "work_overlap_skipped_total")
		require.NoError(t, err)
		require.Zero(t, v)
		members, err := gauge(t.Context(), n, "work_ownership_members")
		require.NoError(t, err)
		require.InDelta(t, 2, members, 0)
		active, err := gauge(t.Context(), n, "work_ownership_active")
		require.NoError(t, err)
		require.InDelta(t, 1, active, 0)
	}
}

// TestOtherRolesAnswerThreePaths: a node without the API answers health, readiness and metrics, and nothing else.
func TestOtherRolesAnswerThreePaths(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, mscluster.Layout{Routers: 1, Intakes: 1, Queriers: 1, Compactors: 1, Alerts: 1})
	for _, n := range c.All() {
		client := n.Client("t1")
		for _, path := range []string{"/api/v1/healthz", "/api/v1/readyz", "/metrics"} {
			require.Equal(t, http.StatusOK, client.Get(t, path).Status, "%s%s", n.ID, path)
		}
		if n.Role == "router" {
			continue
		}
		for _, path := range []string{
			"/", "/api/v1/query?statement=SELECT+1", "/api/v1/cluster/nodes", "/api/v1/cluster/topology", "/prometheus/api/v1/query?query=1",
			"/_bulk", "/api/v1/node/drain", "/debug/pprof/", "/api/v1/healthz/", "/loki/api/v1/push", "/api/v1/version",
		} {
			require.Equal(t, http.StatusNotFound, client.Get(t, path).Status, "%s%s", n.ID, path)
			require.NotEqual(t, http.StatusOK, client.Post(t, path, `[{"n":1}]`).Status, "%s%s", n.ID, path)
		}
	}
}
