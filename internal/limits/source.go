package limits

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/millstream/millstream/internal/tenant"
)

// Origin says where a value came from.
type Origin string

// The origins, each above the one before it.
const (
	FromDefault   Origin = "default"
	FromFile      Origin = "file"      // the settings file of the process
	FromEnv       Origin = "env"       // a variable of the environment
	FromOverrides Origin = "overrides" // the org's entry in the overrides file
)

// Override is the values that one org has instead of the process's. The zero Override has none. It is not changed once it was handed on.
type Override struct{ values map[string]int64 }

// Set gives the limit of that name a value as Definition.Set takes it. An unknown name is an error as well.
func (o *Override) Set(name string, v any) error {
	d, ok := Find(name)
	if !ok {
		return fmt.Errorf("unknown limit %s", name)
	}
	n, err := d.parse(v)
	if err != nil {
		return err
	}
	if o.values == nil {
		o.values = map[string]int64{}
	}
	o.values[name] = n
	return nil
}

// Names returns the names of the limits that it sets, sorted.
func (o Override) Names() []string { return slices.Sorted(maps.Keys(o.values)) }

// Show returns the value that it sets for the limit of that name as Definition.Show writes it; false when it sets none.
func (o Override) Show(name string) (string, bool) {
	v, ok := o.values[name]
	d, known := Find(name)
	if !ok || !known {
		return "", false
	}
	var l Limits
	d.set(&l, v)
	return d.Show(l), true
}

// Equal reports whether both set the same values.
func (o Override) Equal(other Override) bool { return maps.Equal(o.values, other.values) }

// Over returns base with the override's values.
func (o Override) Over(base Limits) Limits {
	for _, d := range Definitions() {
		if v, ok := o.values[d.Name]; ok {
			d.set(&base, v)
		}
	}
	return base
}

// Source answers what limits are in force for an org. All methods are safe for concurrent use; reading takes no lock.
type Source struct {
	base    Limits
	origins map[string]Origin // of base; FromDefault where a name is missing
	current atomic.Pointer[generation]
}

// generation is what Replace puts in place at once. It is never changed.
type generation struct {
	number int64
	orgs   map[tenant.ID]entry
}

type entry struct {
	limits   Limits
	override Override
}

// NewSource returns a Source in which every org has the limits base. origins tells where values of base came from, by name; missing
// ones are defaults.
func NewSource(base Limits, origins map[string]Origin) *Source {
	s := &Source{base: base, origins: maps.Clone(origins)}
	s.current.Store(&generation{})
	return s
}

// Static returns the limits of all orgs as a function, for parts that are used without a Source.
func Static(l Limits) func(tenant.ID) Limits { return func(tenant.ID) Limits { return l } }

// For returns the limits of an org.
func (s *Source) For(org tenant.ID) Limits {
	if e, ok := s.current.Load().orgs[org]; ok {
		return e.limits
	}
	return s.base
}

// Base returns the limits of an org without an override.
func (s *Source) Base() Limits { return s.base }

// Replace puts the overrides of all orgs in place at once; orgs that are missing have none. The map is not kept.
func (s *Source) Replace(overrides map[tenant.ID]Override) {
	next := &generation{number: s.current.Load().number + 1, orgs: make(map[tenant.ID]entry, len(overrides))}
	for org, o := range overrides {
		next.orgs[org] = entry{limits: o.Over(s.base), override: o}
	}
	s.current.Store(next)
}

// Generation counts the calls of Replace.
func (s *Source) Generation() int64 { return s.current.Load().number }

// Value is one limit in force.
type Value struct {
	Definition
	Text   string // as Definition.Show writes it
	Origin Origin
}

// Explain returns all limits of an org in the order of the table, each with its origin.
func (s *Source) Explain(org tenant.ID) []Value {
	e, ok := s.current.Load().orgs[org]
	if !ok {
		e.limits = s.base
	}
	return s.explain(e)
}

func (s *Source) explain(e entry) []Value {
	all := Definitions()
	values := make([]Value, len(all))
	for i, d := range all {
		origin := FromDefault
		if o, ok := s.origins[d.Name]; ok {
			origin = o
		}
		if _, ok := e.override.values[d.Name]; ok {
			origin = FromOverrides
		}
		values[i] = Value{Definition: d, Text: d.Show(e.limits), Origin: origin}
	}
	return values
}

// Overridden returns the orgs that have an override, sorted.
func (s *Source) Overridden() []tenant.ID { return slices.Sorted(maps.Keys(s.current.Load().orgs)) }
