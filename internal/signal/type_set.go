package signal

// TypeSet is the set of types that a column's values have ever had, and whether an integer among them is not exact in a
// float64. Sets join by |, so a column's type does not depend on the order in which rows, batches, flushes or nodes came. The
// bits are stored in the catalog and never change.
type TypeSet uint8

// InexactInt is the bit that says: some int64 value is not exact in a float64.
const InexactInt TypeSet = 1 << 7

// SetOf returns the set of the types.
func SetOf(types ...Type) TypeSet {
	var s TypeSet
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

// Has reports whether t is in the set.
func (s TypeSet) Has(t Type) bool { return s&(1<<t) != 0 }

// Types returns the types in their stored order.
func (s TypeSet) Types() []Type {
	var out []Type
	for t := Bool; t <= typeCount; t++ {
		if s.Has(t) {
			out = append(out, t)
		}
	}
	return out
}

// Resolve returns the type that the column reads as (the table: docs/format/schema.md, decisions B1 and B2), and whether that is
// String because the types differ. One type is itself; Int64 with Float64 is Float64 while every integer is exact in a float64;
// anything else is String. The empty set resolves to 0.
func (s TypeSet) Resolve() (t Type, widened bool) {
	switch types := s &^ InexactInt; {
	case types == 0:
		return 0, false
	case types == SetOf(Int64, Float64) && s&InexactInt == 0:
		return Float64, false
	case types&(types-1) != 0:
		return String, true
	default:
		return s.Types()[0], false
	}
}

// IsInexactInt reports whether a float64 cannot hold v.
func IsInexactInt(v int64) bool {
	const limit = 1 << 53
	if v >= -limit && v <= limit {
		return false
	}
	f := float64(v)
	return f >= 1<<63 || int64(f) != v
}
