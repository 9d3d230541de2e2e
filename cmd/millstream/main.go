// Command millstream is the server and its command line.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/millstream/millstream/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	err := cli.New(streams).ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "millstream:", err)
	}
	return cli.ExitCode(err)
}
