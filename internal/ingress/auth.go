package ingress

import (
	"net/http"

	"google.golang.org/grpc/metadata"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// Mode says how a caller's org is known.
type Mode string

// The modes of auth.mode.
const (
	ModeOpen   Mode = "open"   // loopback only: the header chooses the org, tenant.Default without it
	ModeHeader Mode = "header" // a trusted gateway sets the header; without it a request is refused
)

// OrgHeader names the org of a request. In gRPC metadata it is lower case.
const OrgHeader = "X-Scope-OrgID"

// Authenticator finds out which org a request is for.
type Authenticator struct{ mode Mode }

// NewAuthenticator returns an Authenticator of the mode.
func NewAuthenticator(mode Mode) *Authenticator { return &Authenticator{mode: mode} }

// HTTP returns the org of an HTTP request.
func (a *Authenticator) HTTP(h http.Header) (tenant.ID, error) { return a.org(h.Values(OrgHeader)) }

// GRPC returns the org of a gRPC call.
func (a *Authenticator) GRPC(md metadata.MD) (tenant.ID, error) { return a.org(md.Get(OrgHeader)) }

func (a *Authenticator) org(values []string) (tenant.ID, error) {
	switch {
	case len(values) > 1:
		return "", fault.New(fault.Invalid, "%s is given %d times", OrgHeader, len(values))
	case len(values) == 1 && values[0] != "":
		return tenant.ParseID(values[0])
	case a.mode == ModeOpen:
		return tenant.Default, nil
	default:
		return "", tenant.ErrNoOrg
	}
}
