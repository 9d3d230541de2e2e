package auth

import (
	"slices"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// Principal is who asks, and for which orgs.
type Principal struct {
	// Actor names the credential in logs and in the audit log, as in "token ab12" or "jwt alice". Empty where the mode knows none.
	Actor string
	// Orgs are what the request is about: sorted, none twice. Of a request that needs an org at least one; of one that writes exactly one.
	Orgs   []tenant.ID
	Rights Right
	Grant  Grant
}

// Org returns the org of a request that is about one.
func (p Principal) Org() tenant.ID { return p.Orgs[0] }

// Grant is the orgs that a credential is good for.
type Grant struct {
	All  bool        // every org, those that do not exist yet included
	Orgs []tenant.ID // sorted, none twice; empty when All
}

// everyOrg stands for every org in the list of a grant. It is an id that an org may have; such an org is granted by this alone.
const everyOrg = "*"

// ParseGrant reads a list of org ids, in which * stands for every org. An empty list or a malformed id is fault.Invalid.
func ParseGrant(orgs []string) (Grant, error) {
	if len(orgs) == 0 {
		return Grant{}, fault.New(fault.Invalid, "at least one org is needed (* stands for every org)")
	}
	if slices.Contains(orgs, everyOrg) {
		if len(orgs) > 1 {
			return Grant{}, fault.New(fault.Invalid, "* stands for every org and stands alone")
		}
		return Grant{All: true}, nil
	}
	if len(orgs) > tenant.MaxIDs {
		return Grant{}, fault.New(fault.Invalid, "%d orgs are more than the %d that a credential may list", len(orgs), tenant.MaxIDs)
	}
	var g Grant
	for _, s := range orgs {
		if s == "" {
			return Grant{}, fault.New(fault.Invalid, "an org id is empty")
		}
		id, err := tenant.ParseID(s)
		if err != nil {
			return Grant{}, err
		}
		g.Orgs = append(g.Orgs, id)
	}
	slices.Sort(g.Orgs)
	g.Orgs = slices.Compact(g.Orgs)
	return g, nil
}

// Names returns the list that ParseGrant reads.
func (g Grant) Names() []string {
	if g.All {
		return []string{everyOrg}
	}
	out := make([]string, len(g.Orgs))
	for i, o := range g.Orgs {
		out[i] = string(o)
	}
	return out
}

// Covers reports whether every org of h is granted by g.
func (g Grant) Covers(h Grant) bool {
	if g.All {
		return true
	}
	return !h.All && g.has(h.Orgs)
}

// has reports whether the grant holds every one of some orgs.
func (g Grant) has(orgs []tenant.ID) bool {
	if g.All {
		return true
	}
	for _, o := range orgs {
		if _, ok := slices.BinarySearch(g.Orgs, o); !ok {
			return false
		}
	}
	return true
}
