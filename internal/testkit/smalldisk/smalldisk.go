package smalldisk

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// variable tells the test binary in which folder the small file system is.
const variable = "MILLSTREAM_TEST_SMALL_DISK"

// Run calls f with a folder that is a file system of size (as mount's option size, 64m). The test calls it once, first of all, and
// returns afterwards; env are further variables of the process in which f runs, as name=value. The test is skipped where mounting is
// not allowed.
func Run(t *testing.T, size string, f func(t *testing.T, dir string), env ...string) {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		f(t, dir)
		return
	}
	if err := exec.CommandContext(t.Context(), "unshare", "-Urm", "true").Run(); err != nil {
		t.Skip("no unprivileged mount namespace here; internal/wal covers a full disk with its fault file system")
	}
	dir := t.TempDir()
	script := fmt.Sprintf("mount -t tmpfs -o size=%s none %q && exec %q -test.run '^%s$' -test.v", size, dir, os.Args[0], t.Name())
	cmd := exec.CommandContext(t.Context(), "unshare", "-Urm", "sh", "-c", script)
	cmd.Env = append(append(os.Environ(), variable+"="+dir), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "it has run there")
}
