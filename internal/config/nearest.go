package config

import (
	"slices"
	"strings"
)

// isSection reports whether the path names a section.
func (c *Config) isSection(path string) bool {
	return slices.ContainsFunc(c.keys, func(k *key) bool { return strings.HasPrefix(k.path, path+".") })
}

// suggest returns `; did you mean …?` for an unknown key, or "" when nothing is near.
func (c *Config) suggest(path string) string {
	var names []string
	for _, k := range c.keys {
		if k.secret {
			continue
		}
		names = append(names, k.path)
		if head, _, ok := strings.Cut(k.path, "."); ok && !slices.Contains(names, head) {
			names = append(names, head)
		}
	}
	return didYouMean(path, names)
}

func didYouMean(name string, known []string) string {
	best, bestAt := "", len(name)/3+1 // a third of the letters may be wrong
	for _, k := range known {
		if at := distance(name, k); at < bestAt || at == bestAt && best == "" {
			best, bestAt = k, at
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance counts the bytes to insert, remove, replace or swap with their neighbour to make a of b.
func distance(a, b string) int {
	// rows holds the distances of the prefixes of a to all prefixes of b: two rows back, one row back, and the present one.
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range len(a) {
		rows[2][0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			d := min(rows[1][j+1]+1, rows[2][j]+1, rows[1][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, rows[0][j-1]+1)
			}
			rows[2][j+1] = d
		}
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
	}
	return rows[1][len(b)]
}
