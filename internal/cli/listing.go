package cli

import (
	"encoding/json"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// listing is how commands that show what there is write it: a table for people, JSON for scripts.
type listing struct {
	output string
	Streams
}

func (l *listing) addFlag(f *pflag.FlagSet) {
	f.StringVarP(&l.output, "output", "o", "table", "`format`: table or json")
}

// check refuses a format that there is not.
func (l *listing) check() error {
	if l.output != "table" && l.output != "json" {
		return usagef("--output %q is neither table nor json", l.output)
	}
	return nil
}

// print writes v as JSON, or calls table.
func (l *listing) print(v any, table func(w io.Writer)) error {
	if l.output == "json" {
		enc := json.NewEncoder(l.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	w := tabwriter.NewWriter(l.Out, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}
