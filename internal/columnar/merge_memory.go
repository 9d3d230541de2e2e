package columnar

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// RowGroupBytes returns about how much memory the largest row group of a data file takes when it is read: it reads the first one and
// goes by the number of rows.
func RowGroupBytes(ctx context.Context, path string) (bytes int64, err error) {
	r, err := OpenReader(path, columnKey)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	record, err := r.Next(ctx)
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer record.Release()
	largest := record.NumRows()
	for group := range r.parquet.NumRowGroups() {
		largest = max(largest, r.parquet.MetaData().RowGroup(group).NumRows())
	}
	return recordBytes(record) * largest / max(record.NumRows(), 1), nil
}

// recordBytes returns what the buffers of a record take. Columns of files are flat.
func recordBytes(record arrow.RecordBatch) (bytes int64) {
	for _, column := range record.Columns() {
		for _, b := range column.Data().Buffers() {
			if b != nil {
				bytes += int64(b.Cap())
			}
		}
	}
	return bytes
}

// mergeBase is what a merge takes whatever its sources are: compressors, footers, write buffers.
const mergeBase = 8 << 20

// MergeBytes returns about how much memory Merge takes at most over sources whose RowGroupBytes are these: of each source the row group
// that is read and one whose last rows are not written, and of the result a row group as it is gathered, encoded and indexed. A series
// of metrics that is longer than a row group takes more.
func MergeBytes(rowGroups []int64) int64 {
	var sum, largest int64
	for _, b := range rowGroups {
		sum += b
		largest = max(largest, b)
	}
	return mergeBase + 2*sum + 4*largest
}
