package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Shared runs the tests of a package with one server for all that do not stop theirs, unless the environment names one. A TestMain runs it
// instead of its testing.M.
type Shared struct{ Tests interface{ Run() int } }

// Run starts the server, runs the tests and returns their exit code.
func (s Shared) Run() (code int) {
	if os.Getenv(EnvDSN) != "" {
		return s.Tests.Run()
	}
	server, err := Launch(context.Background())
	if errors.Is(err, ErrNotInstalled) {
		return s.Tests.Run() // each test says so and is skipped, or fails where CI is set
	}
	if err == nil {
		err = os.Setenv(EnvDSN, server.DSN())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start PostgreSQL:", err)
		return 1
	}
	defer func() {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close PostgreSQL:", err)
			code = 1
		}
	}()
	return s.Tests.Run()
}
