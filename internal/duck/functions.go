package duck

import (
	"cmp"
	_ "embed" // the list of functions
	"slices"
	"strings"
	"sync"
)

// Kind is the place in a statement where a function name stands.
type Kind string

// The kinds of functions. An aggregate may stand where a window function does.
const (
	Scalar    Kind = "scalar"
	Aggregate Kind = "aggregate"
	Window    Kind = "window"
	Table     Kind = "table"
)

//go:embed functions.txt
var functionList string

// Category is a section of the list of allowed functions, in the order of the list.
type Category struct {
	Kind  Kind
	Name  string
	Names []string // of its functions, in lower case, in the order of the list
}

// registry is the parsed list.
type registry struct {
	categories []Category
	allowed    map[Kind]map[string]bool
	rewrites   map[string]string
}

var functions = sync.OnceValue(func() registry { return parseFunctions(functionList) })

func parseFunctions(text string) registry {
	r := registry{allowed: make(map[Kind]map[string]bool), rewrites: make(map[string]string)}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if kind, category, ok := strings.Cut(strings.TrimPrefix(line, "["), "] "); ok && line[0] == '[' {
			r.categories = append(r.categories, Category{Kind: Kind(kind), Name: category})
			if r.allowed[Kind(kind)] == nil {
				r.allowed[Kind(kind)] = make(map[string]bool)
			}
			continue
		}
		names := strings.Fields(strings.ToLower(line))
		if len(names) == 3 && names[1] == "=" {
			r.rewrites[names[0]] = names[2]
			names = names[:1]
		}
		c := &r.categories[len(r.categories)-1]
		c.Names = append(c.Names, names...)
		for _, n := range names {
			r.allowed[c.Kind][n] = true
		}
	}
	return r
}

// Allowed reports whether statements may call the function or operator name, in any case of letters, at a place of kind.
func Allowed(kind Kind, name string) bool {
	r, name := functions(), strings.ToLower(name)
	return r.allowed[kind][name] || kind == Window && r.allowed[Aggregate][name]
}

// Rewrite returns the trusted macro that a call of the scalar function or operator name must be replaced by, with the same arguments in the
// same order, in main's schema and not as an operator; ok is false when name stays as it is. Table functions are never rewritten.
//
// A macro may mention an argument up to four times, so a caller bounds how deeply rewritten calls nest in each other (MaxNestedRewrites).
func Rewrite(name string) (macro string, ok bool) {
	macro, ok = functions().rewrites[strings.ToLower(name)]
	return macro, ok
}

// MaxNestedRewrites is how deep rewritten calls may stand in arguments of rewritten calls, chains of || and replace excepted, which mention
// every argument once.
const MaxNestedRewrites = 8

// Categories returns the list of allowed functions. The caller does not change it.
func Categories() []Category { return functions().categories }

const (
	maxSuggestions = 3
	maxSuggestName = 64 // bytes; longer names are near to nothing
)

// Suggest returns up to three allowed names of kind that are near to name, nearest first, for a message about a name that is refused.
func Suggest(kind Kind, name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	if len(name) > maxSuggestName {
		return nil
	}
	name = strings.ToLower(name)
	var found []candidate
	for n := range functions().allowed[kind] {
		d := editDistance(name, n)
		if strings.HasPrefix(n, name) || strings.HasPrefix(name, n) && len(n) > 2 {
			d = min(d, 1)
		}
		if d <= max(1, len(name)/3) {
			found = append(found, candidate{n, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range found[:min(len(found), maxSuggestions)] {
		names = append(names, c.name)
	}
	return names
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
