package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

// Records of the audit log in one answer.
const (
	defaultChanges = 100
	maxChanges     = 1000
)

// tokens adds the endpoints about credentials. Registry checks what the caller may do.
func (a *api) tokens(r chi.Router) {
	r.Post("/api/v1/tokens", a.administered(a.createToken))
	r.Get("/api/v1/tokens", a.administered(a.listTokens))
	r.Delete("/api/v1/tokens/{prefix}", a.administered(a.revokeToken))
	r.Post("/api/v1/tokens/rotate", a.administered(a.rotateKey))
	r.Get("/api/v1/audit", a.administered(a.changes))
}

// administered authenticates the caller of an endpoint about credentials. do returns the status and the body of its answer.
func (a *api) administered(do func(r *http.Request, by auth.Principal) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := a.Auth.Administrator(r)
		if err != nil {
			writeError(w, r, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		status, body, err := do(r, by)
		if err != nil {
			writeError(w, r, err)
			return
		}
		writeJSON(w, status, body)
	}
}

// tokenBody describes a token in requests and answers.
type tokenBody struct {
	Type      string     `json:"type,omitempty"`  // of requests: api or jwt
	Token     string     `json:"token,omitempty"` // the credential itself: once, in the answer that made it
	Prefix    string     `json:"prefix,omitempty"`
	Name      string     `json:"name"`
	Orgs      []string   `json:"orgs"`
	Rights    []string   `json:"rights"`
	CreatedBy string     `json:"created_by,omitempty"`
	CreatedAt *time.Time `json:"created_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	UsedAt    *time.Time `json:"used_at,omitempty"`
}

func newTokenBody(t catalog.Token) tokenBody {
	return tokenBody{
		Prefix: t.Prefix, Name: t.Name, Orgs: t.Orgs, Rights: t.Rights, CreatedBy: t.CreatedBy,
		CreatedAt: given(t.Created), ExpiresAt: given(t.Expires), UsedAt: given(t.Used),
	}
}

// given returns nil for a time that is not set.
func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *api) createToken(r *http.Request, by auth.Principal) (int, any, error) {
	var in struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Orgs    []string `json:"orgs"`
		Rights  []string `json:"rights"`
		Expires string   `json:"expires"`
	}
	if err := readObject(r, &in, `{"name":"…","orgs":["…"],"rights":["read"],"expires":"720h"}`); err != nil {
		return 0, nil, err
	}
	spec := auth.Spec{Name: in.Name}
	var err error
	if spec.Grant, err = auth.ParseGrant(in.Orgs); err != nil {
		return 0, nil, err
	}
	if spec.Rights, err = auth.ParseRight(in.Rights); err != nil {
		return 0, nil, err
	}
	if spec.Expires, err = auth.ParseExpiry(in.Expires, time.Now()); err != nil {
		return 0, nil, err
	}
	switch in.Type {
	case "", "api":
		text, made, err := a.Tokens.Create(r.Context(), by, spec)
		if err != nil {
			return 0, nil, err
		}
		out := newTokenBody(made)
		out.Token = text
		return http.StatusCreated, out, nil
	case "jwt":
		text, err := a.Tokens.Sign(r.Context(), by, spec)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, tokenBody{
			Token: text, Name: spec.Name, Orgs: spec.Grant.Names(), Rights: spec.Rights.Names(), ExpiresAt: &spec.Expires,
		}, nil
	default:
		return 0, nil, fault.New(fault.Invalid, "type %.32q is neither api nor jwt", in.Type)
	}
}

func (a *api) listTokens(r *http.Request, by auth.Principal) (int, any, error) {
	all, err := a.Tokens.List(r.Context(), by)
	if err != nil {
		return 0, nil, err
	}
	out := make([]tokenBody, len(all))
	for i, t := range all {
		out[i] = newTokenBody(t)
	}
	return http.StatusOK, map[string]any{"tokens": out}, nil
}

func (a *api) revokeToken(r *http.Request, by auth.Principal) (int, any, error) {
	prefix := chi.URLParam(r, "prefix")
	if err := a.Tokens.Revoke(r.Context(), by, prefix); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"revoked": prefix}, nil
}

func (a *api) rotateKey(r *http.Request, by auth.Principal) (int, any, error) {
	var in struct {
		Grace string `json:"grace"`
	}
	if err := readObject(r, &in, `{"grace":"24h"}`); err != nil {
		return 0, nil, err
	}
	grace, err := parseOffset("+" + in.Grace)
	if in.Grace == "" || err != nil {
		return 0, nil, fault.New(fault.Invalid, "grace: %.64q is no duration such as 24h; 0s ends all web tokens at once", in.Grace)
	}
	if err := a.Tokens.Rotate(r.Context(), by, grace); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"rotated": true}, nil
}

// changeBody is a record of the audit log.
type changeBody struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Org    string    `json:"org,omitempty"`
	Object string    `json:"object"`
	Detail string    `json:"detail,omitempty"`
}

// changes answers with records of the audit log, the newest first. The parameter before continues where an answer ended.
func (a *api) changes(r *http.Request, by auth.Principal) (int, any, error) {
	q := r.URL.Query()
	if err := checkParameters(q, "before", "limit"); err != nil {
		return 0, nil, err
	}
	before, err := parameterNumber(q.Get("before"), "before", 0)
	if err != nil {
		return 0, nil, err
	}
	limit, err := parameterNumber(q.Get("limit"), "limit", defaultChanges)
	if err != nil {
		return 0, nil, err
	}
	all, err := a.Tokens.Changes(r.Context(), by, before, int(min(limit, maxChanges)))
	if err != nil {
		return 0, nil, err
	}
	out := make([]changeBody, len(all))
	for i, c := range all {
		out[i] = changeBody(c)
	}
	return http.StatusOK, map[string]any{"changes": out}, nil
}

// parameterNumber reads a parameter that is a whole number from 0 on; absent is byDefault.
func parameterNumber(text, name string, byDefault int64) (int64, error) {
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "%s: %.32q is no whole number from 0 on", name, text)
	}
	return n, nil
}

// readObject reads a small JSON object; form shows what is expected.
func readObject(r *http.Request, to any, form string) error {
	dec := json.NewDecoder(io.LimitReader(r.Body, maxStatementBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return fault.Wrap(fault.Invalid, err, "the request is not an object such as %s", form)
	}
	return nil
}
