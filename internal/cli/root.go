package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/millstream/millstream/internal/app"
	"github.com/millstream/millstream/internal/config"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// New returns the root command.
func New(s Streams) *cobra.Command {
	var configPath string
	root := &cobra.Command{
		Use:           "millstream",
		Short:         "A store for logs, metrics and traces",
		Long:          "Millstream stores logs, metrics and traces of many teams and answers SQL.\n\nWithout a command it serves.",
		Args:          arguments(cobra.NoArgs),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), configPath, s) },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.PersistentFlags().StringVar(&configPath, "config", "", "TOML `file` with settings; MS_ environment variables go before it")
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { fmt.Fprintln(s.Out, app.VersionText()) },
	})
	root.AddCommand(configCommand(&configPath, s), clusterCommand(&configPath, s), tokenCommand(&configPath, s))
	root.AddCommand(queryCommand(s), importCommand(s), tailCommand(s), demoCommand(s))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", err, cmd.CommandPath())
	})
	return root
}

// serve runs the server until the context ends.
func serve(ctx context.Context, path string, s Streams) error {
	c, warnings, err := config.Load(config.FromProcess(path))
	if err != nil {
		return err
	}
	logger := app.NewLogger(c.Log, s.Err)
	for _, w := range warnings {
		logger.Warn("configuration", "where", w.Where, "warning", w.Message)
	}
	return app.Serve(ctx, c, logger, s.Out)
}
