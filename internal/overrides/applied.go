package overrides

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// Applied tells what was put in force. Two processes that put the same in force after the same tell it in the same words.
type Applied struct {
	// First says that the process has just started, and so does not know what was in force before.
	First bool
	// Before and After are digests of all overrides. Equal ones have equal digests.
	Before, After string
	// Count is how many orgs have overrides now.
	Count int
	// Orgs are those whose overrides are others now, sorted. Empty when First.
	Orgs []OrgChange
}

// OrgChange is what an org's entry says now and did not say before.
type OrgChange struct {
	Org tenant.ID
	// Text names each limit that changed with the values before and now, "-" for none: "ingestion_rate_mb 10 → 20".
	Text string
}

// compare returns what putting after in the place of before changes.
func compare(before, after map[tenant.ID]limits.Override, first bool) Applied {
	a := Applied{First: first, After: digest(after), Count: len(after)}
	if first {
		return a
	}
	a.Before = digest(before)
	orgs := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(orgs)
	for _, org := range slices.Compact(orgs) {
		was, had := before[org]
		is, has := after[org]
		if had != has || !was.Equal(is) {
			a.Orgs = append(a.Orgs, OrgChange{org, describe(was, is, had, has)})
		}
	}
	return a
}

// describe tells how an org's entry changed.
func describe(was, is limits.Override, had, has bool) string {
	var parts []string
	switch {
	case !had:
		parts = append(parts, "added")
	case !has:
		parts = append(parts, "removed")
	}
	names := slices.Concat(was.Names(), is.Names())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if from, to := shown(was, name), shown(is, name); from != to {
			parts = append(parts, fmt.Sprintf("%s %s → %s", name, from, to))
		}
	}
	return strings.Join(parts, ", ")
}

func shown(o limits.Override, name string) string {
	if text, ok := o.Show(name); ok {
		return text
	}
	return "-"
}

// digest names overrides in a few letters.
func digest(all map[tenant.ID]limits.Override) string {
	h := sha256.New()
	for _, org := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(h, "%s\n", org)
		for _, name := range all[org].Names() {
			fmt.Fprintf(h, " %s %s\n", name, shown(all[org], name))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
