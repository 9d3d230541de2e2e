package auth

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strings"

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
	ModeToken  Mode = "token"  // a credential says what is granted; the header chooses within it
)

// OrgHeader names the orgs of a request. In gRPC metadata it is lower case.
const OrgHeader = "X-Scope-OrgID"

// ErrForbidden is the answer to a known caller who may not do what they ask. It names nothing that exists.
var ErrForbidden = fault.New(fault.Forbidden, "the credential does not grant this")

// credentialHeader carries the token: Bearer, or Basic with the token as the password.
const credentialHeader = "Authorization"

// Authenticator finds out who sent a request. It is safe for concurrent use.
type Authenticator struct {
	mode   Mode
	tokens *Verifier // of ModeToken
}

// New returns an Authenticator of a mode that knows no credentials: ModeOpen or ModeHeader.
func New(mode Mode) *Authenticator { return &Authenticator{mode: mode} }

// NewToken returns an Authenticator of ModeToken.
func NewToken(v *Verifier) *Authenticator { return &Authenticator{mode: ModeToken, tokens: v} }

// Challenge returns what WWW-Authenticate says with a 401; empty in modes without credentials.
func (a *Authenticator) Challenge() string {
	if a.mode != ModeToken {
		return ""
	}
	return `Bearer realm="millstream"`
}

// HTTP returns who sent an HTTP request that needs a right. Requests that need more than Read are about one org.
func (a *Authenticator) HTTP(r *http.Request, need Right) (Principal, error) {
	return a.principal(r.Context(), r.Header.Values(credentialHeader), r.Header.Values(OrgHeader), need)
}

// GRPC returns who sent the gRPC call of ctx, which needs a right.
func (a *Authenticator) GRPC(ctx context.Context, need Right) (Principal, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return a.principal(ctx, md.Get(credentialHeader), md.Get(OrgHeader), need)
}

// Administrator returns who sent a request about credentials: an admin, of some orgs or of all. No org is named.
func (a *Authenticator) Administrator(r *http.Request) (Principal, error) {
	if a.mode != ModeToken {
		return a.local(r)
	}
	p, err := a.credential(r.Context(), r.Header.Values(credentialHeader))
	if err == nil && !p.Rights.Has(Admin) {
		err = ErrForbidden
	}
	return p, err
}

// Operator returns who sent a request about the system as a whole, in which no org is named: an admin of every org or, in modes without
// credentials, a caller on this machine.
func (a *Authenticator) Operator(r *http.Request) (Principal, error) {
	p, err := a.Administrator(r)
	if err == nil && !p.Grant.All {
		err = ErrForbidden
	}
	return p, err
}

func (a *Authenticator) local(r *http.Request) (Principal, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return Principal{}, fault.New(fault.Forbidden, "only callers on the node's own machine may do this")
	}
	return Principal{Actor: "local", Rights: Every, Grant: Grant{All: true}}, nil
}

// principal checks the credential, then what the org header names.
func (a *Authenticator) principal(ctx context.Context, credentials, orgs []string, need Right) (Principal, error) {
	p := Principal{Rights: Every, Grant: Grant{All: true}}
	if a.mode == ModeToken {
		var err error
		if p, err = a.credential(ctx, credentials); err != nil {
			return Principal{}, err
		}
	}
	named, err := headerOrgs(orgs)
	switch {
	case err != nil:
		return Principal{}, err
	case len(named) > 0:
		p.Orgs = named
	case a.mode == ModeOpen:
		p.Orgs = []tenant.ID{tenant.Default}
	case a.mode == ModeToken && len(p.Grant.Orgs) == 1:
		p.Orgs = p.Grant.Orgs
	default:
		return Principal{}, tenant.ErrNoOrg
	}
	if err := p.check(need); err != nil {
		return Principal{}, err
	}
	return p, nil
}

// credential returns whom the request's credential is of.
func (a *Authenticator) credential(ctx context.Context, values []string) (Principal, error) {
	if len(values) != 1 {
		return Principal{}, errUnauthenticated
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	text = strings.TrimLeft(text, " ")
	switch strings.ToLower(scheme) {
	case "bearer":
	case "basic":
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return Principal{}, errUnauthenticated
		}
		_, text, _ = strings.Cut(string(plain), ":")
	default:
		return Principal{}, errUnauthenticated
	}
	if text == "" {
		return Principal{}, errUnauthenticated
	}
	return a.tokens.verify(ctx, text)
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
