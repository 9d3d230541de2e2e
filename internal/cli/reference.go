package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// WriteReference writes docs/cli.md: every command with its help, examples and flags.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Command line\n\nWritten by `make generate` from the commands' own help; do not edit.\n\n" +
		"Clients find the server by `--addr`, else `$" + envAddr + "`, else " + defaultAddr + ", and send the org of `--org`, else `$" +
		envOrg + "`,\nand the token of `--token`, else `$" + envToken + "`.\nExit codes: 0 done, 1 failed, 2 wrong usage.\n")
	writeCommand(&b, New(Streams{Out: io.Discard, Err: io.Discard}))
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.IsAvailableCommand() && cmd.HasParent() {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", cmd.CommandPath(), firstOf(cmd.Long, cmd.Short+"."))
	if cmd.Runnable() {
		fmt.Fprintf(b, "\n```\n%s\n```\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(cmd.Example))
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(b, "\n```\n%s```\n", flags.FlagUsages())
	}
	for _, sub := range cmd.Commands() {
		writeCommand(b, sub)
	}
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}
