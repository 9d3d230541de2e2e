package limits

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// WriteReference writes the table of all limits that stands in docs/operate/limits.md.
func WriteReference(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "| limit | value | default | Loki's default | above it | counted as | |\n|---|---|---|---|---|---|---|\n")
	for _, d := range Definitions() {
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | %s | %s |\n", d.Name, d.Kind, code(d.Show(Default())), code(d.Loki), d.status(),
			code(d.Reason), strings.ReplaceAll(d.Doc, "|", `\|`))
	}
	return out.Flush()
}

// status is what a client gets above the limit.
func (d Definition) status() string {
	if d.Refused == fault.Internal {
		return ""
	}
	return strconv.Itoa(fault.StatusOf(fault.New(d.Refused, "")).HTTP)
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// WriteLoki writes docs/operate/loki-limits.toml: settings with Loki's defaults in place of ours.
func WriteLoki(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "# Loki's own defaults, for those who want a new org to be bounded as it is there.\n"+
		"# Put the section into the settings file, or single lines of it.\n\n[limits]\n")
	for _, d := range Definitions() {
		if d.Loki != "" {
			fmt.Fprintf(out, "%s = %s\n", d.Name, d.Loki)
		}
	}
	return out.Flush()
}
