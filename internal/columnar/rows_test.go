package columnar_test

import (
	"cmp"
	"slices"
)

// sortRows is the order of a file of logs: by time, equal ones as they came.
func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.nanos, b.nanos))
	})
}
