package tenant

import (
	"github.com/millstream/millstream/internal/fault"
)

// ID names an org. Rules (Loki's): bytes 0-9 a-z A-Z and !-_.*'() only, 1 to 150 of them, not "." and not "..".
type ID string

// Default is the org of a request without X-Scope-OrgID when auth.mode is open.
const Default ID = "default"

// MaxIDBytes is the longest id.
const MaxIDBytes = 150

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
