package columnar

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/millstream/millstream/internal/fault"
)

// textRun is rows from the end of the run before to end, exclusive, that hold one text.
type textRun struct {
	text string
	end  int
}

// textRuns appends the runs of equal texts of a column that has no nulls. Where the column has a dictionary, runs come from its encoded
// form and no text is looked at twice.
func (r *SeriesReader) textRuns(dst []textRun, group int, column string) ([]textRun, error) {
	i, ok := r.columns[column]
	if !ok {
		return dst, fault.New(fault.Internal, "the file has no column %s", column)
	}
	pages, err := r.parquet.RowGroup(group).GetColumnPageReader(i)
	if err != nil {
		return dst, fault.Wrap(fault.Corrupt, err, "column %s", column)
	}
	defer pages.Close() //nolint:errcheck // it holds memory alone
	first := len(dst)
	var dictionary []string
	rows := 0
	for pages.Next() {
		switch p := pages.Page().(type) {
		case *file.DictionaryPage:
			if dictionary, err = plainTexts(dictionary[:0], p.Data(), int(p.NumValues())); err != nil {
				return dst, err
			}
		case *file.DataPageV1:
			data, ok := withoutLevels(p.Data(), r.parquet.MetaData().Schema.Column(i).MaxDefinitionLevel())
			if !ok || parquet.Encoding(p.Encoding()) != parquet.Encodings.RLEDict || rows > 0 {
				return r.slowTextRuns(dst[:first], group, column)
			}
			if dst, err = dictionaryRuns(dst, data, dictionary, int(p.NumValues())); err != nil {
				return dst, err
			}
			rows += int(p.NumValues())
		default:
			return r.slowTextRuns(dst[:first], group, column)
		}
	}
	if err := pages.Err(); err != nil {
		return dst, fault.Wrap(fault.Corrupt, err, "column %s", column)
	}
	if rows != r.Rows(group) {
		return dst, fault.New(fault.Corrupt, "column %s has %d values in %d rows", column, rows, r.Rows(group))
	}
	return dst, nil
}

// slowTextRuns reads text by text.
func (r *SeriesReader) slowTextRuns(dst []textRun, group int, column string) ([]textRun, error) {
	err := r.eachText(group, column, func(row int, text parquet.ByteArray, same bool) {
		if same {
			dst[len(dst)-1].end = row + 1
		} else {
			dst = append(dst, textRun{string(text), row + 1})
		}
	})
	return dst, err
}

// withoutLevels cuts the definition levels off a page; it is not ok for levels that this reader does not know.
func withoutLevels(data []byte, maxLevel int16) ([]byte, bool) {
	if maxLevel == 0 {
		return data, true
	}
	if len(data) < 4 {
		return nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n > uint64(len(data)-4) {
		return nil, false
	}
	return data[4+n:], true
}

// plainTexts reads the values of a dictionary.
func plainTexts(dst []string, data []byte, n int) ([]string, error) {
	for range n {
		if len(data) < 4 {
			return dst, errDictionary()
		}
		size := uint64(binary.LittleEndian.Uint32(data))
		if size > uint64(len(data)-4) {
			return dst, errDictionary()
		}
		dst = append(dst, string(data[4:4+size]))
		data = data[4+size:]
	}
	return dst, nil
}

func errDictionary() error { return fault.New(fault.Corrupt, "damaged dictionary") }

// dictionaryRuns decodes n dictionary indexes, written as runs and bit-packed groups of eight, into runs of texts.
func dictionaryRuns(dst []textRun, data []byte, dictionary []string, n int) ([]textRun, error) {
	if len(data) == 0 || data[0] > 32 {
		return dst, errDictionary()
	}
	width := int(data[0])
	data = data[1:]
	row, last := 0, -1
	add := func(index, count int) bool {
		if index >= len(dictionary) {
			return false
		}
		count = min(count, n-row)
		row += count
		if index == last {
			dst[len(dst)-1].end = row
		} else if count > 0 {
			dst, last = append(dst, textRun{dictionary[index], row}), index
		}
		return true
	}
	for row < n {
		head, size := binary.Uvarint(data)
		if size <= 0 {
			return dst, errDictionary()
		}
		data = data[size:]
		if head&1 == 0 { // one index, repeated
			bytes := (width + 7) / 8
			if len(data) < bytes || head>>1 == 0 || !add(littleEndian(data[:bytes]), int(min(head>>1, uint64(n)))) {
				return dst, errDictionary()
			}
			data = data[bytes:]
			continue
		}
		groups := head >> 1
		if groups == 0 || groups > uint64(n) || uint64(len(data)) < groups*uint64(width) {
			return dst, errDictionary()
		}
		for at := 0; at < int(groups)*8 && row < n; at++ {
			if !add(bitsAt(data, at*width, width), 1) {
				return dst, errDictionary()
			}
		}
		data = data[groups*uint64(width):]
	}
	return dst, nil
}

func littleEndian(b []byte) int {
	v := 0
	for i, c := range b {
		v |= int(c) << (8 * i)
	}
	return v
}

// bitsAt reads width bits, at most 32, that begin at a bit.
func bitsAt(data []byte, bit, width int) int {
	v := uint64(0)
	for i := range 5 {
		if at := bit/8 + i; at < len(data) {
			v |= uint64(data[at]) << (8 * i)
		}
	}
	return int(v >> (bit % 8) & (1<<width - 1))
}
