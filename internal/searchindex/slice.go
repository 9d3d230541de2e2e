package searchindex

// Slices is how many parts the rows of a row group are divided into, so that an index can say in which of them a word is.
const Slices = 7

// AnySlice stands for a word that is in several slices of a row group, or in one that nobody knows.
const AnySlice = Slices

// AllSlices is the mask of all slices: bit i stands for slice i.
const AllSlices = 1<<Slices - 1

// SliceOf returns the slice of a row in a row group of so many rows.
func SliceOf(row, rows int) uint8 { return uint8(row * Slices / rows) }

// SliceRows returns the rows of a slice, [start, end).
func SliceRows(slice, rows int) (start, end int) {
	return (slice*rows + Slices - 1) / Slices, ((slice+1)*rows + Slices - 1) / Slices
}

// maskOf returns the slices that a slice's number stands for.
func maskOf(slice uint8) uint8 {
	if slice >= AnySlice {
		return AllSlices
	}
	return 1 << slice
}
