package auth

import (
	"net"
	"net/http"

	"google.golang.org/grpc/metadata"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// Mode says how a caller is known.
type Mode string

// The modes of auth.mode.
const (
	ModeOpen   Mode = "open"   // loopback only: the header chooses the orgs, tenant.Default without it
	ModeHeader Mode = "header" // a trusted gateway sets the header; without it a request is refused
)

// OrgHeader names the orgs of a request. In gRPC metadata it is lower case.
const OrgHeader = "X-Scope-OrgID"

// ErrForbidden is the answer to a known caller who may not do what they ask. It names nothing that exists.
var ErrForbidden = fault.New(fault.Forbidden, "the credential does not grant this")

// Authenticator finds out who sent a request. It is safe for concurrent use.
type Authenticator struct{ mode Mode }

// New returns an Authenticator of the mode.
func New(mode Mode) *Authenticator { return &Authenticator{mode: mode} }

// HTTP returns who sent an HTTP request that needs a right. Requests that need more than Read are about one org.
func (a *Authenticator) HTTP(h http.Header, need Right) (Principal, error) {
	return a.principal(h.Values(OrgHeader), need)
}

// GRPC returns who sent a gRPC call that needs a right.
func (a *Authenticator) GRPC(md metadata.MD, need Right) (Principal, error) {
	return a.principal(md.Get(OrgHeader), need)
}

// Operator returns who sent a request about the system as a whole, which no org is named in: a caller on this machine.
func (a *Authenticator) Operator(r *http.Request) (Principal, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return Principal{}, fault.New(fault.Forbidden, "only callers on the node's own machine may do this")
	}
	return Principal{Actor: "local", Rights: Every, Grant: Grant{All: true}}, nil
}

// principal finds the orgs that the header's values name.
func (a *Authenticator) principal(values []string, need Right) (Principal, error) {
	p := Principal{Rights: Every, Grant: Grant{All: true}}
	named, err := headerOrgs(values)
	switch {
	case err != nil:
		return Principal{}, err
	case len(named) == 0 && a.mode == ModeOpen:
		named = []tenant.ID{tenant.Default}
	case len(named) == 0:
		return Principal{}, tenant.ErrNoOrg
	}
	p.Orgs = named
	err = p.check(need)
	return p, err
}

// check reports whether the request's orgs and the credential's rights go with what is needed.
func (p *Principal) check(need Right) error {
	switch {
	case !p.Grant.has(p.Orgs), !p.Rights.Has(need):
		return ErrForbidden
	case len(p.Orgs) > 1 && need != Read:
		return fault.New(fault.Invalid, "%s names %d orgs; several at once can only be read", OrgHeader, len(p.Orgs))
	default:
		return nil
	}
}

// headerOrgs returns the orgs that the values of OrgHeader name, none when it is missing or empty.
func headerOrgs(values []string) ([]tenant.ID, error) {
	switch {
	case len(values) > 1:
		return nil, fault.New(fault.Invalid, "%s is given %d times", OrgHeader, len(values))
	case len(values) == 0 || values[0] == "":
		return nil, nil
	default:
		return tenant.ParseIDs(values[0])
	}
}
