package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/overrides"
	"github.com/millstream/millstream/internal/tenant"
)

// Limits is what is told about the limits in force.
type Limits interface {
	Explain(org tenant.ID) []limits.Value
	Overridden() []tenant.ID
	Generation() int64
	// Usage returns how much of its limits an org uses now, by the limit's name; limits that nothing is used of are left out.
	Usage(ctx context.Context, org tenant.ID) map[string]any
	// OverridesFile tells what became of the file; false when there is none.
	OverridesFile() (overrides.Status, bool)
}

func (a *api) limits(r chi.Router) {
	if a.Limits == nil {
		return
	}
	r.Get("/config/tenant/v1/limits", a.tenantLimits)
	r.With(a.admin).Get("/runtime_config", a.runtimeConfig)
}

// limitValue is one limit in an answer.
type limitValue struct {
	Value  json.RawMessage `json:"value"`
	Origin limits.Origin   `json:"origin"`
	Usage  any             `json:"usage,omitempty"`
}

// tenantLimits answers with all limits of the caller's org, where each comes from, and how much of it is used.
func (a *api) tenantLimits(w http.ResponseWriter, r *http.Request) {
	p, err := a.single(r)
	if err == nil {
		err = checkParameters(r.URL.Query())
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	org := p.Org()
	usage := a.Limits.Usage(r.Context(), org)
	all := map[string]limitValue{}
	for _, v := range a.Limits.Explain(org) {
		all[v.Name] = limitValue{json.RawMessage(v.Text), v.Origin, usage[v.Name]}
	}
	writeJSON(w, http.StatusOK, map[string]any{"org": org, "generation": a.Limits.Generation(), "limits": all})
}

// overridesFile is the overrides file in an answer.
type overridesFile struct {
	Path   string           `json:"path"`
	Loaded *time.Time       `json:"loaded,omitempty"` // when the values in force were put there
	Judged *time.Time       `json:"judged,omitempty"` // when a change was last looked at
	Faults []overridesFault `json:"faults"`
}

type overridesFault struct {
	Line    int    `json:"line,omitempty"`
	Org     string `json:"org,omitempty"` // missing when the whole file cannot be used
	Message string `json:"message"`
}

// runtimeConfig answers with the limits of an org without overrides, with all overrides in force, and with the state of the file.
func (a *api) runtimeConfig(w http.ResponseWriter, r *http.Request) {
	if err := checkParameters(r.URL.Query()); err != nil {
		writeError(w, r, err)
		return
	}
	defaults := map[string]limitValue{}
	for _, v := range a.Limits.Explain("") { // no org has this id, so none has overrides under it
		defaults[v.Name] = limitValue{Value: json.RawMessage(v.Text), Origin: v.Origin}
	}
	inForce := map[tenant.ID]map[string]json.RawMessage{}
	for _, org := range a.Limits.Overridden() {
		values := map[string]json.RawMessage{}
		for _, v := range a.Limits.Explain(org) {
			if v.Origin == limits.FromOverrides {
				values[v.Name] = json.RawMessage(v.Text)
			}
		}
		inForce[org] = values
	}
	body := map[string]any{"generation": a.Limits.Generation(), "defaults": defaults, "overrides": inForce}
	if s, ok := a.Limits.OverridesFile(); ok {
		body["file"] = fileOf(s)
	}
	writeJSON(w, http.StatusOK, body)
}

func fileOf(s overrides.Status) overridesFile {
	moment := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC()
		return &t
	}
	f := overridesFile{Path: s.Path, Loaded: moment(s.Loaded), Judged: moment(s.Judged), Faults: []overridesFault{}}
	for _, bad := range s.Faults {
		f.Faults = append(f.Faults, overridesFault{bad.Line, bad.Org, bad.Message})
	}
	return f
}
