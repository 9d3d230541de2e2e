package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

// EncodeToken checks a token and returns the lists of it as they are stored.
func EncodeToken(t *catalog.Token) (orgs, rights string, err error) {
	if err := CheckText("token prefix", t.Prefix); err != nil {
		return "", "", err
	}
	if len(t.Hash) == 0 {
		return "", "", fault.New(fault.Invalid, "token %s has no hash", t.Prefix)
	}
	t.Name, t.CreatedBy = CleanText(t.Name), CleanText(t.CreatedBy)
	a, err := json.Marshal(t.Orgs)
	if err != nil {
		return "", "", fault.Wrap(fault.Internal, err, "encode a token")
	}
	b, err := json.Marshal(t.Rights)
	if err != nil {
		return "", "", fault.Wrap(fault.Internal, err, "encode a token")
	}
	return string(a), string(b), nil
}

// DecodeToken sets the lists of a token.
func DecodeToken(t *catalog.Token, orgs, rights string) error {
	if err := json.Unmarshal([]byte(orgs), &t.Orgs); err != nil {
		return fault.Wrap(fault.Corrupt, err, "read the orgs of token %s", t.Prefix)
	}
	if err := json.Unmarshal([]byte(rights), &t.Rights); err != nil {
		return fault.Wrap(fault.Corrupt, err, "read the rights of token %s", t.Prefix)
	}
	return nil
}

// CleanText makes a text storable: no NUL, UTF-8 alone.
func CleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CleanChange makes the texts of a record storable.
func CleanChange(c *catalog.Change) {
	for _, s := range []*string{&c.Actor, &c.Action, &c.Org, &c.Object, &c.Detail} {
		*s = CleanText(*s)
	}
}

// SortedKeys returns the keys of m in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
