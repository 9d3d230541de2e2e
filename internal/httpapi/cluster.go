package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/slot"
	"github.com/millstream/millstream/internal/fault"
)

// Cluster is what operators ask about the nodes. A process that is alone shows itself.
type Cluster interface {
	View(ctx context.Context) (*cluster.View, error)
	Statuses(ctx context.Context) ([]cluster.Status, error)
	RequestDrain(ctx context.Context, node string) (cluster.Drain, error)
	Drains(ctx context.Context) ([]cluster.Drain, error)
}

func (a *api) cluster(r chi.Router) {
	r.Group(func(r chi.Router) {
		r.Use(a.admin)
		r.Get("/api/v1/cluster/nodes", a.clusterNodes)
		r.Get("/api/v1/cluster/topology", a.clusterTopology)
		r.Get("/api/v1/cluster/slots", a.clusterSlots)
		r.Post("/api/v1/node/drain", a.drain)
		r.Get("/api/v1/node/drain", a.drains)
	})
}

// operatorKey is where admin leaves the actor.
type operatorKey struct{}

// admin admits whoever may operate the cluster (decisions E8).
func (a *api) admin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := a.Auth.Operator(r)
		if err != nil {
			writeError(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), operatorKey{}, p.Actor))
		next.ServeHTTP(w, r)
	})
}

// nodeStatus is a node in the answer to clusterNodes.
type nodeStatus struct {
	cluster.TopologyNode

	Member        bool      `json:"member"`
	Started       time.Time `json:"started"`
	HeartbeatAt   time.Time `json:"heartbeat_at"`
	SilenceSecs   float64   `json:"silence_secs"`
	Phase         string    `json:"phase,omitempty"`
	UnflushedRows int64     `json:"unflushed_rows"`
}

// clusterNodes answers with every node that has a heartbeat row, members or not.
func (a *api) clusterNodes(w http.ResponseWriter, r *http.Request) {
	view, err := a.Cluster.View(r.Context())
	if err != nil {
		writeError(w, r, err)
		return
	}
	statuses, err := a.Cluster.Statuses(r.Context())
	if err != nil {
		writeError(w, r, err)
		return
	}
	listed := make(map[string]cluster.TopologyNode)
	for _, n := range cluster.NewTopology(view, time.Now()).Nodes {
		listed[n.ID] = n
	}
	nodes := make([]nodeStatus, 0, len(statuses))
	for _, s := range statuses {
		n, ok := listed[s.ID]
		if !ok {
			n = cluster.TopologyNode{
				ID: s.ID, Incarnation: s.Incarnation, Roles: s.Roles, Active: []cluster.Role{}, State: s.State,
				Address: s.Address, HTTPAddress: s.HTTPAddress, Version: s.Version,
			}
		}
		nodes = append(nodes, nodeStatus{
			TopologyNode: n, Member: ok && len(n.Active) > 0, Started: s.Started, HeartbeatAt: s.HeartbeatAt,
			SilenceSecs: s.Silence.Seconds(), Phase: s.Phase, UnflushedRows: s.UnflushedRows,
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"epoch": view.Epoch, "nodes": nodes})
}

// clusterTopology answers with the document of the epoch, which its ETag names.
func (a *api) clusterTopology(w http.ResponseWriter, r *http.Request) {
	view, err := a.Cluster.View(r.Context())
	if err != nil {
		writeError(w, r, err)
		return
	}
	tag := strconv.Quote(strconv.FormatInt(view.Epoch, 10))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeJSON(w, http.StatusOK, cluster.NewTopology(view, time.Now()))
}

// clusterSlots answers with the share of each intake node, or with the owners of one slot: of the parameter slot, or of the stream
// that org, database, signal and stream name.
func (a *api) clusterSlots(w http.ResponseWriter, r *http.Request) {
	view, err := a.Cluster.View(r.Context())
	if err != nil {
		writeError(w, r, err)
		return
	}
	q := r.URL.Query()
	if err := checkParameters(q, "slot", "org", "database", "signal", "stream"); err != nil {
		writeError(w, r, err)
		return
	}
	at, asked, err := askedSlot(q.Get("slot"), q.Get("org"), q.Get("database"), q.Get("signal"), q.Get("stream"))
	switch {
	case err != nil:
		writeError(w, r, err)
	case asked:
		owners := make([]string, 0, 3)
		for _, n := range view.Owners(at, cap(owners)) {
			owners = append(owners, n.ID)
		}
		writeJSON(w, http.StatusOK, map[string]any{"epoch": view.Epoch, "slot": at, "owners": owners})
	default:
		writeJSON(w, http.StatusOK, map[string]any{"epoch": view.Epoch, "slots": slot.Count, "nodes": view.Shares()})
	}
}

func askedSlot(number, org, database, sig, stream string) (at uint16, asked bool, err error) {
	if number != "" {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n >= slot.Count {
			return 0, false, fault.New(fault.Invalid, "slot: %.32q is not a number from 0 to %d", number, slot.Count-1)
		}
		return uint16(n), true, nil
	}
	if stream == "" {
		return 0, false, nil
	}
	if org == "" || sig == "" {
		return 0, false, fault.New(fault.Invalid, "stream: org and signal are needed with it")
	}
	if database == "" {
		database = slot.DefaultDatabase
	}
	return slot.Of(org, database, sig, stream), true, nil
}

// drain asks a node to leave, finish its work and flush. The node obeys at its next heartbeat.
func (a *api) drain(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Node string `json:"node"`
	}
	dec := json.NewDecoder(io.LimitReader(r.Body, maxStatementBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		writeError(w, r, fault.Wrap(fault.Invalid, err, `the request is not {"node":"…"}`))
		return
	}
	if body.Node == "" {
		writeError(w, r, fault.New(fault.Invalid, `node is missing: {"node":"…"} names the node to drain`))
		return
	}
	d, err := a.Cluster.RequestDrain(r.Context(), body.Node)
	if err != nil {
		writeError(w, r, err)
		return
	}
	actor, _ := r.Context().Value(operatorKey{}).(string)
	a.Audit.Record(r.Context(), catalog.Change{Actor: actor, Action: "node.drain", Object: body.Node})
	writeJSON(w, http.StatusAccepted, d)
}

func (a *api) drains(w http.ResponseWriter, r *http.Request) {
	all, err := a.Cluster.Drains(r.Context())
	if err != nil {
		writeError(w, r, err)
		return
	}
	if all == nil {
		all = []cluster.Drain{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"drains": all})
}
