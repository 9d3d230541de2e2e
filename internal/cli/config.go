package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millstream/millstream/internal/config"
)

func configCommand(path *string, s Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check or print the settings"}
	cmd.AddCommand(&cobra.Command{
		Use: "check", Short: "Check the settings and say everything that is wrong", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, warnings, err := config.Load(config.FromProcess(*path))
			for _, w := range warnings {
				fmt.Fprintln(s.Err, "warning:", w)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(s.Out, "ok")
			return nil
		},
	})
	var diff bool
	printCommand := &cobra.Command{
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
	printCommand.Flags().BoolVar(&diff, "diff", false, "only what differs from the defaults")
	cmd.AddCommand(printCommand)
	return cmd
}
