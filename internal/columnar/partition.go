package columnar

import (
	"cmp"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// MaxHourParts is the number of hour partitions that Split makes at most.
const MaxHourParts = 4

const (
	hourMicros = int64(time.Hour / time.Microsecond)
	dayMicros  = 24 * hourMicros
)

// Part is the rows of one partition. It borrows the records: they must outlive it.
type Part struct {
	Partition catalog.Partition
	Records   []arrow.RecordBatch
	// Rows selects rows of each record, ascending. Nil, as a whole or for one record, selects all.
	Rows [][]int32
}

// NumRows returns the number of selected rows.
func (p *Part) NumRows() int {
	n := 0
	for i, r := range p.Records {
		if rows := p.selection(i); rows != nil {
			n += len(rows)
		} else {
			n += int(r.NumRows())
		}
	}
	return n
}

func (p *Part) selection(record int) []int32 {
	if p.Rows == nil {
		return nil
	}
	return p.Rows[record]
}

// PartitionOf returns the partition of a unit that holds an event time (microseconds since the epoch).
func PartitionOf(micros int64, unit catalog.PartitionUnit) catalog.Partition {
	p := catalog.Partition{Unit: unit}
	switch unit {
	case catalog.Day:
		p.Start = floor(micros, dayMicros)
	case catalog.Month:
		t := time.UnixMicro(micros).UTC()
		p.Start = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	default:
		p.Start = floor(micros, hourMicros)
	}
	return p
}

// floor rounds down to a multiple of unit, for negative times too.
func floor(micros, unit int64) int64 {
	rest := micros % unit
	if rest < 0 {
		rest += unit
	}
	return micros - rest
}

// Split groups the rows of one dataset by the partition they go to (decisions B7): the MaxHourParts hours with the most rows have
// a part each, all other rows one part a day. Parts come in order of time. Rows are not copied; records whose rows all go to one
// partition are passed on whole. Records without rows are left out.
func Split(records []arrow.RecordBatch) []Part {
	records = slices.DeleteFunc(slices.Clone(records), func(r arrow.RecordBatch) bool { return r.NumRows() == 0 })
	if len(records) == 0 {
		return nil
	}
	least, greatest := signal.TimeRange(records[0])
	for _, r := range records[1:] {
		lo, hi := signal.TimeRange(r)
		least, greatest = min(least, lo), max(greatest, hi)
	}
	if floor(least, hourMicros) == floor(greatest, hourMicros) {
		return []Part{{Partition: PartitionOf(least, catalog.Hour), Records: records}}
	}
	return splitRows(records, busiestHours(records))
}

// busiestHours returns the starts of the hours that have a part of their own.
func busiestHours(records []arrow.RecordBatch) map[int64]bool {
	counts := make(map[int64]int)
	for _, r := range records {
		for _, t := range signal.Times(r) {
			counts[floor(int64(t), hourMicros)]++
		}
	}
	hours := make([]int64, 0, len(counts))
	for h := range counts {
		hours = append(hours, h)
	}
	slices.SortFunc(hours, func(a, b int64) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(b, a))
	})
	chosen := make(map[int64]bool, MaxHourParts)
	for _, h := range hours[:min(len(hours), MaxHourParts)] {
		chosen[h] = true
	}
	return chosen
}

func splitRows(records []arrow.RecordBatch, hours map[int64]bool) []Part {
	type key = catalog.Partition
	parts := make(map[key]*Part)
	for _, r := range records {
		var last *Part
		lastHour := int64(0)
		for row, t := range signal.Times(r) {
			hour := floor(int64(t), hourMicros)
			if last == nil || hour != lastHour {
				k := key{Unit: catalog.Hour, Start: hour}
				if !hours[hour] {
					k = PartitionOf(int64(t), catalog.Day)
				}
				last, lastHour = parts[k], hour
				if last == nil {
					last = &Part{Partition: k}
					parts[k] = last
				}
			}
			last.add(r, int32(row))
		}
	}
	out := make([]Part, 0, len(parts))
	for _, p := range parts {
		p.passWhole()
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Partition.Start, b.Partition.Start), cmp.Compare(a.Partition.Unit, b.Partition.Unit))
	})
	return out
}

func (p *Part) add(r arrow.RecordBatch, row int32) {
	if n := len(p.Records); n == 0 || p.Records[n-1] != r {
		p.Records = append(p.Records, r)
		p.Rows = append(p.Rows, nil)
	}
	p.Rows[len(p.Rows)-1] = append(p.Rows[len(p.Rows)-1], row)
}

// passWhole drops selections that select everything.
func (p *Part) passWhole() {
	for i, r := range p.Records {
		if len(p.Rows[i]) == int(r.NumRows()) {
			p.Rows[i] = nil
		}
	}
}
