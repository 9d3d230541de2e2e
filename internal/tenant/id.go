package tenant

import (
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// ID names an org. Rules (Loki's): bytes 0-9 a-z A-Z and !-_.*'() only, 1 to 150 of them, not "." and not "..".
type ID string

// Default is the org of a request without X-Scope-OrgID when auth.mode is open.
const Default ID = "default"

// MaxIDBytes is the longest id.
const MaxIDBytes = 150

// MaxIDs is the most orgs that one request may name.
const MaxIDs = 100

// ErrNoOrg is the answer to a request that names no org where one is needed. Its text is Loki's.
var ErrNoOrg = fault.New(fault.Unauthenticated, "no org id")

// ParseID checks s and returns it as an ID. The order of checks is Loki's: characters, length, dot names. An empty s is ErrNoOrg.
func ParseID(s string) (ID, error) {
	if s == "" {
		return "", ErrNoOrg
	}
	for i := range len(s) {
		if !validByte(s[i]) {
			return "", fault.New(fault.Invalid, "org id: character %q is not allowed", rune(s[i]))
		}
	}
	if len(s) > MaxIDBytes {
		return "", fault.New(fault.Invalid, "org id: longer than %d bytes", MaxIDBytes)
	}
	if s == "." || s == ".." {
		return "", fault.New(fault.Invalid, "org id: %q is not allowed", s)
	}
	return ID(s), nil
}

// ParseIDs reads ids with | between them, as a reader of several orgs sends them. They come sorted and without repetitions. An empty s is
// ErrNoOrg, an empty element is refused.
func ParseIDs(s string) ([]ID, error) {
	if s == "" {
		return nil, ErrNoOrg
	}
	if n := strings.Count(s, "|") + 1; n > MaxIDs {
		return nil, fault.New(fault.Invalid, "org id: %d are listed, more than %d", n, MaxIDs)
	}
	var ids []ID
	for part := range strings.SplitSeq(s, "|") {
		if part == "" {
			return nil, fault.New(fault.Invalid, "org id: an element of the list is empty")
		}
		id, err := ParseID(part)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func validByte(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	}
	switch c {
	case '!', '-', '_', '.', '*', '\'', '(', ')':
		return true
	}
	return false
}
