package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/overrides"
)

func configCommand(path *string, s Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check or print the settings"}
	cmd.AddCommand(checkCommand(path, s))
	cmd.AddCommand(printCommand(path, s))
	return cmd
}

func checkCommand(path *string, s Streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "check", Short: "Check the settings, or an overrides file, and say everything that is wrong", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file != "" {
				return checkOverrides(file, s)
			}
			c, warnings, err := config.Load(config.FromProcess(*path))
			for _, w := range warnings {
				fmt.Fprintln(s.Err, "warning:", w)
			}
			if err != nil {
				return err
			}
			if c.Overrides.File != "" {
				return checkOverrides(c.Overrides.File, s)
			}
			fmt.Fprintln(s.Out, "ok")
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "overrides", "", "check this `FILE` with limits of single orgs instead of the settings")
	return cmd
}

// checkOverrides tells every fault of an overrides file with its line.
func checkOverrides(path string, s Streams) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "the overrides file cannot be read: %v", err)
	}
	doc := overrides.Parse(text)
	if len(doc.Faults) == 0 {
		fmt.Fprintf(s.Out, "ok: %d orgs have limits of their own\n", len(doc.Good))
		return nil
	}
	lines := make([]string, len(doc.Faults))
	for i, f := range doc.Faults {
		lines[i] = path + ":" + f.String()
	}
	return fault.New(fault.Invalid, "the overrides file has %d faults\n%s", len(lines), strings.Join(lines, "\n"))
}

func printCommand(path *string, s Streams) *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use: "print", Short: "Print the effective settings with their origin", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, warnings, err := config.Load(config.FromProcess(*path))
			for _, w := range warnings {
				fmt.Fprintln(s.Err, "warning:", w)
			}
			if err != nil {
				return err
			}
			return c.Print(s.Out, diff)
		},
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "only what differs from the defaults")
	return cmd
}
