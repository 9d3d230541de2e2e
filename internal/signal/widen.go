package signal

// Widen returns the type that a column has after values of type seen joined those of type current, and whether that is String
// because types differ (the rule table: docs/format/schema.md, decisions B1 and B2). A current of 0 is a column without values.
//
// Equal types stay. Int64 and Float64 make Float64 while every integer is exact in a float64 (inexactInt tells that some is not),
// else String. Any other pair makes String. Widening is commutative and associative over the set of all types and the
// inexactInt marks ever seen, provided that inexactInt is true once any integer of the column was inexact.
func Widen(current, seen Type, inexactInt bool) (t Type, widened bool) {
	switch {
	case current == 0 || current == seen:
		return seen, false
	case numeric(current) && numeric(seen) && !inexactInt:
		return Float64, false
	default:
		return String, true
	}
}

func numeric(t Type) bool { return t == Int64 || t == Float64 }

// InexactInt reports whether float64 cannot hold v.
func InexactInt(v int64) bool {
	const limit = 1 << 53
	if v >= -limit && v <= limit {
		return false
	}
	f := float64(v)
	return f >= 1<<63 || int64(f) != v
}
