package columnar

import (
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// Endings of object keys. An index object's key is its data object's with the other ending.
const (
	DataSuffix  = ".parquet"
	IndexSuffix = ".index"
)

// ObjectKey returns the object key of a segment: org/signal/dataset/partition/number.parquet. Keys begin with the org, since an
// engine instance may read below its org's prefix only.
func ObjectKey(org tenant.ID, s signal.Signal, dataset catalog.DatasetID, p catalog.Partition, id catalog.SegmentID) string {
	layout := "2006-01-02T15"
	switch p.Unit {
	case catalog.Day:
		layout = "2006-01-02"
	case catalog.Month:
		layout = "2006-01"
	case catalog.Hour:
	}
	partition := time.UnixMicro(p.Start).UTC().Format(layout)
	return fmt.Sprintf("%s/%s/%d/%s/%016x%s", org, s, dataset, partition, int64(id), DataSuffix)
}
