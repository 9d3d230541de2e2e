package script_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestStories(t *testing.T) {
	t.Parallel()
	program, err := mstest.Program()
	require.NoError(t, err)
	server := mstest.Start(t, mstest.Config{Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1"}})
	// Stories run in parallel and outlive this function's body: the group keeps the server until they are done.
	t.Run("stories", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: ".",
			Setup: func(env *testscript.Env) error {
				bin := filepath.Join(env.WorkDir, "bin")
				if err := os.Mkdir(bin, 0o700); err != nil {
					return err
				}
				if err := os.Symlink(program, filepath.Join(bin, "millstream")); err != nil {
					return err
				}
				env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
				env.Setenv("MILLSTREAM_ADDR", server.HTTP)
				env.Setenv("MILLSTREAM_ORG", strings.ReplaceAll(filepath.Base(env.WorkDir), "script-", ""))
				return nil
			},
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
				"wait-for": waitFor, "rows": rows, "kill-when": killWhen,
			},
		})
	})
}

// patience bounds waiting for what a story expects to happen.
const patience = 30 * time.Second

// until calls condition until it holds.
func until(ts *testscript.TestScript, what string, condition func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := mstest.WaitFor(ctx, func(context.Context) error {
		if !condition() {
			return errors.New(what)
		}
		return nil
	})
	ts.Check(err)
}

// waitFor waits until a file holds a text: wait-for FILE TEXT.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for FILE TEXT")
	}
	until(ts, args[0]+" does not hold "+args[1], func() bool { return holds(ts, args[0], args[1]) })
}

func holds(ts *testscript.TestScript, name, text string) bool {
	data, err := os.ReadFile(ts.MkAbs(name))
	return err == nil && strings.Contains(string(data), text)
}

// rows writes numbered rows, a second apart: rows FILE N.
func rows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := bufio.NewWriter(f)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		fmt.Fprintf(w, "{\"_timestamp\":%q,\"n\":%d,\"level\":\"info\",\"message\":\"row number %d\"}\n",
			at.Add(time.Duration(i)*time.Second).Format(time.RFC3339), i, i)
	}
	ts.Check(w.Flush())
	ts.Check(f.Close())
}

// killWhen kills the program in the background when a file holds a text: kill-when FILE TEXT.
func killWhen(ts *testscript.TestScript, neg bool, args []string) {
	waitFor(ts, neg, args)
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Kill())
	}
}
