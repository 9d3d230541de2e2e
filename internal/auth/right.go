package auth

import (
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// Right is a set of things that a principal may do in the orgs of its grant.
type Right uint8

// The rights. Each is needed by itself: a token that may write may not read by that.
const (
	Read  Right = 1 << iota // ask
	Write                   // send rows, CREATE and ALTER
	Admin                   // DROP DATABASE, tokens; over all orgs: operating the system

	// Every is all of them.
	Every = Read | Write | Admin
)

func rightNames() []struct {
	name  string
	right Right
} {
	return []struct {
		name  string
		right Right
	}{{"read", Read}, {"write", Write}, {"admin", Admin}}
}

// ParseRight reads the names of rights. Admin brings the others with it. No name, or one that is not known, is fault.Invalid.
func ParseRight(names []string) (Right, error) {
	var out Right
	for _, name := range names {
		known := false
		for _, r := range rightNames() {
			if r.name == name {
				out, known = out|r.right, true
			}
		}
		if !known {
			return 0, fault.New(fault.Invalid, "right %.32q is not known; read, write and admin are", name)
		}
	}
	if out == 0 {
		return 0, fault.New(fault.Invalid, "at least one right is needed: read, write, admin")
	}
	if out&Admin != 0 {
		out = Every
	}
	return out, nil
}

// Has reports whether r holds every right of need.
func (r Right) Has(need Right) bool { return r&need == need }

// Names returns the names of the rights, admin alone when it is among them.
func (r Right) Names() []string {
	if r.Has(Admin) {
		return []string{"admin"}
	}
	var out []string
	for _, n := range rightNames() {
		if r.Has(n.right) {
			out = append(out, n.name)
		}
	}
	return out
}

// String implements fmt.Stringer.
func (r Right) String() string { return strings.Join(r.Names(), ",") }
