// Command services runs a command with the servers that tests share: it starts one PostgreSQL server, puts its URL into
// MILLSTREAM_TEST_POSTGRES_DSN, runs the command given as arguments, stops the server and exits with the command's code.
//
//	services go test ./...
//
// A server whose URL is in the variable already is used as it is. S3 servers are private to a test and need no sharing.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func main() {
	// Both signals only cancel: the servers are stopped in order before the process ends.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

// run returns the command's exit code.
func run(ctx context.Context, args []string) (code int, err error) {
	if len(args) == 0 {
		return 0, errors.New("name the command to run, as in: services go test ./pkg")
	}
	env := os.Environ()
	if os.Getenv(pgtest.EnvDSN) == "" {
		server, err := pgtest.Launch(ctx)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		env = append(env, pgtest.EnvDSN+"="+server.DSN())
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // let go test clean up behind itself
	cmd.WaitDelay = 30 * time.Second
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	default:
		return 0, fmt.Errorf("run %s: %w", args[0], err)
	}
}
