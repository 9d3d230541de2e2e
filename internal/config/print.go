package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Print writes the effective settings as TOML, each with its origin, secrets redacted, and the division of memory as a comment.
// With diff only what is not a default is written.
func (c *Config) Print(w io.Writer, diff bool) error {
	out := bufio.NewWriter(w)
	head := ""
	for _, k := range c.keys {
		if diff && k.origin == FromDefault {
			continue
		}
		section, name, ok := strings.Cut(k.path, ".")
		if !ok {
			section, name = "", k.path
		}
		if section != head && section != "" {
			fmt.Fprintf(out, "\n[%s]\n", section)
			head = section
		}
		line := name + " = " + k.show()
		if k.secret { // a file with it would be refused
			line = "# " + k.env() + "=" + k.show()
		}
		fmt.Fprintf(out, "%-48s # %s\n", line, k.origin)
	}
	m := c.Memory
	fmt.Fprintf(out, "\n# memory: %s of SQL engine + %s of buffers + %s of merges + %s of samples + %s for the rest = %s",
		megabytes(m.Engine), megabytes(m.Buffers), megabytes(m.Merges), megabytes(m.Samples), megabytes(m.Base), megabytes(m.Sum()))
	if m.Machine > 0 {
		fmt.Fprintf(out, " of %s", megabytes(m.Machine))
	}
	if m.GoLimit > 0 {
		fmt.Fprintf(out, "; GOMEMLIMIT %s", megabytes(m.GoLimit))
	}
	fmt.Fprintln(out)
	return out.Flush()
}

// WriteReference writes docs/config.md: every key with its variable, default and description.
func WriteReference(w io.Writer) error {
	c := &Config{}
	d := declareAll(c)
	out := bufio.NewWriter(w)
	fmt.Fprint(out, referenceHead)
	for _, s := range d.sections {
		if s.name == "" {
			fmt.Fprintf(out, "\n## Without a section\n\n%s\n\n", s.doc)
		} else {
			fmt.Fprintf(out, "\n## [%s]\n\n%s\n\n", s.name, s.doc)
		}
		fmt.Fprint(out, "| key | variable | value | default | |\n|---|---|---|---|---|\n")
		for _, k := range d.keys {
			section, name, ok := strings.Cut(k.path, ".")
			if !ok {
				section, name = "", k.path
			}
			if section != s.name {
				continue
			}
			fallback := "`" + k.fallback + "`"
			if k.secret {
				name, fallback = "", ""
			} else {
				name = "`" + name + "`"
			}
			fmt.Fprintf(out, "| %s | `%s` | %s | %s | %s |\n", name, k.env(), k.kind, fallback, strings.ReplaceAll(k.doc, "|", `\|`))
		}
	}
	return out.Flush()
}

const referenceHead = "# Configuration\n\n" +
	"<!-- Generated from internal/config by make generate. -->\n\n" +
	"`millstream --config FILE` reads a TOML file; a variable of the environment stands above the file, the file above the default. " +
	"A variable's name is `MS_` and the key's path in upper case, levels joined by one underscore. Lists are written as in TOML or with " +
	"commas. Unknown keys and unknown `MS_` variables are faults, except what Kubernetes sets for services. All faults are reported at " +
	"once: `millstream config check`. `millstream config print --diff` shows what is not a default, and where it comes from.\n\n" +
	"Sizes are whole numbers of bytes or end in KiB, MiB, GiB, TiB, kB, MB, GB, TB. In `[limits]` sizes and durations are written as in " +
	"Loki: there `256KB` is 256 KiB, and durations are `90s`, `10m`, `1d12h`, `2w`, `0`. " +
	"Secrets have no place in the file: set the variable, or the variable with `_FILE` at its end to " +
	"the path of a file that holds the secret.\n"
