package columnar

import (
	"strconv"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/fault"
)

// Writable is the format that WriteFile writes.
const Writable = 1

// metaFormat is the key of the format's number in a file's footer.
const metaFormat = "millstream.format"

// Formats returns the formats that this program reads, ascending. A format that ever shipped stays in the list, and a file of it
// in testdata.
func Formats() []int { return []int{1} }

// openFormat returns what reads row groups of a format.
func openFormat(format int) (layout, error) {
	switch format {
	case 1:
		return layoutV1{}, nil
	default:
		return nil, fault.New(fault.Corrupt, "data file of format %d, this program reads %v", format, Formats())
	}
}

// layout is what differs between formats for a reader.
type layout interface {
	// columns tells what the file's columns are, the ones to leave out excepted.
	columns(f *file.Reader, names Names) ([]readColumn, error)
}

// formatOf returns the format that a file's footer names.
func formatOf(f *file.Reader) (int, error) {
	v := f.MetaData().KeyValueMetadata().FindValue(metaFormat)
	if v == nil {
		return parseFormat("", false)
	}
	return parseFormat(*v, true)
}

// checkFormat refuses files of a format that this program does not read.
func checkFormat(f *parquetfile.File) error {
	format, err := parseFormat(f.Meta(metaFormat))
	if err == nil {
		_, err = openFormat(format)
	}
	return err
}

func parseFormat(text string, ok bool) (int, error) {
	if !ok {
		return 0, fault.New(fault.Corrupt, "data file without a format number")
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.Wrap(fault.Corrupt, err, "data file of the format %q", text)
	}
	return n, nil
}
