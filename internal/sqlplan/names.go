package sqlplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// Names resolves names in statements to the streams of one org.
type Names struct {
	database string
	streams  []catalog.Stream
}

// NewNames returns the names that a request for database sees; streams are all of the org's. The slice must not change afterwards.
func NewNames(database string, streams []catalog.Stream) Names {
	if database == "" {
		database = signal.DefaultDatabase
	}
	return Names{database: database, streams: streams}
}

// candidate is a reading of a name: any signal if signal is 0.
type candidate struct {
	database string
	signal   signal.Signal
	name     string
}

// reading returns what a name of one to three parts means: stream (in the request's database), signal.stream or database.stream,
// database.signal.stream.
func (n Names) reading(parts []string) (candidate, error) {
	switch len(parts) {
	case 1:
		return candidate{database: n.database, name: parts[0]}, nil
	case 2:
		if s, ok := signal.ParseSignal(strings.ToLower(parts[0])); ok {
			return candidate{database: n.database, signal: s, name: parts[1]}, nil
		}
		return candidate{database: parts[0], name: parts[1]}, nil
	case 3:
		s, ok := signal.ParseSignal(strings.ToLower(parts[1]))
		if !ok {
			return candidate{}, fault.New(fault.NotFound, "%q in %s is no signal; there are logs, metrics and traces", parts[1], joinName(parts))
		}
		return candidate{database: parts[0], signal: s, name: parts[2]}, nil
	default:
		return candidate{}, fault.New(fault.NotFound, "%s has more than three parts (database.signal.stream)", joinName(parts))
	}
}

// Resolve returns the stream that a name means. The exact name wins, then the only one that fits without case; several are
// fault.Invalid listing them, none is fault.NotFound naming the closest.
func (n Names) Resolve(parts []string) (catalog.Stream, error) {
	c, err := n.reading(parts)
	if err != nil {
		return catalog.Stream{}, err
	}
	equal := func(a, b string) bool { return a == b }
	for _, same := range []func(a, b string) bool{equal, strings.EqualFold} {
		found := n.find(c, same)
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return catalog.Stream{}, fault.New(fault.Invalid, "%s fits several streams: %s", joinName(parts), strings.Join(names(found), ", "))
		}
	}
	return catalog.Stream{}, fault.New(fault.NotFound, "unknown stream %s%s", joinName(parts), nearestList(n.nearest(c)))
}

func (n Names) find(c candidate, same func(a, b string) bool) []catalog.Stream {
	var found []catalog.Stream
	for _, s := range n.streams {
		if (c.signal == 0 || c.signal == s.Signal) && same(c.name, s.Name) && same(c.database, s.Stream.Database) {
			found = append(found, s)
		}
	}
	return found
}

// nearest returns the names of the streams closest to c, as they would be written in a request for this database.
func (n Names) nearest(c candidate) []string {
	const most = 3
	type scored struct {
		name string
		far  int
	}
	var all []scored
	limit := max(len(c.name)/3, 2)
	for _, s := range n.streams {
		far := distance(strings.ToLower(c.name), strings.ToLower(s.Name), limit)
		if far > limit {
			continue
		}
		if s.Stream.Database != c.database || c.signal != 0 && c.signal != s.Signal {
			far++
		}
		name := s.Name
		switch {
		case s.Stream.Database != n.database:
			name = s.Stream.Database + "." + s.Signal.String() + "." + s.Name
		case c.signal != 0 && c.signal != s.Signal:
			name = s.Signal.String() + "." + s.Name
		}
		all = append(all, scored{name, far})
	}
	slices.SortStableFunc(all, func(a, b scored) int { return a.far - b.far })
	var out []string
	for _, s := range all {
		if len(out) < most && !slices.Contains(out, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

// names writes streams with all their parts.
func names(streams []catalog.Stream) []string {
	out := make([]string, len(streams))
	for i, s := range streams {
		out[i] = joinName([]string{s.Stream.Database, s.Signal.String(), s.Name})
	}
	return out
}

// joinName writes a name as it stands in a statement, quoted where it must be.
func joinName(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p
		if p == "" || run(p, wordRune) < len(p) || '0' <= p[0] && p[0] <= '9' {
			out[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
	}
	return clip(strings.Join(out, "."))
}

// distance is the number of characters to insert, delete, replace or swap with their neighbour to make b of a; limit+1 stands for anything
// above limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	prev2, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return min(prev[len(y)], limit+1)
}

// Resolve returns the stream that the statement describes; errors point into it.
func (d *Describe) Resolve(n Names) (catalog.Stream, error) { return n.resolveAt(d.text, d.Stream) }

// Resolve returns the stream that the statement changes; errors point into it.
func (a *AlterStream) Resolve(n Names) (catalog.Stream, error) { return n.resolveAt(a.text, a.Stream) }

func (n Names) resolveAt(text string, name Name) (catalog.Stream, error) {
	s, err := n.Resolve(name.Parts)
	if err != nil {
		return s, at(fault.KindOf(err), text, name.Offset, "%s", fault.Message(err))
	}
	return s, nil
}

// String writes the name as it stands in a statement.
func (n Name) String() string { return joinName(n.Parts) }

var _ fmt.Stringer = Name{}
