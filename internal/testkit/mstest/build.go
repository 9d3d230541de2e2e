package mstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// EnvProgram names the variable that holds the path of a built program.
const EnvProgram = "MILLSTREAM_TEST_BINARY"

// keepBuilds is how long a program stays in the cache folder after a newer one was built: tests that started it may restart it.
const keepBuilds = 12 * time.Hour

// Program returns the path of the program under test: what EnvProgram names, else one built from the working tree. The path stays
// good while the test runs, even if the sources change and another test builds them.
func Program() (string, error) {
	if path := os.Getenv(EnvProgram); path != "" {
		return filepath.Abs(path)
	}
	return builtProgram()
}

// builtProgram builds once in a test binary.
//
//nolint:gochecknoglobals // constant after the first call
var builtProgram = sync.OnceValues(func() (string, error) { return build(context.Background()) })

// build makes the program in .cache/mstest of the module. The go command leaves it alone when it is up to date. Each build gets a
// second name of its own, which later builds do not touch.
func build(ctx context.Context) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "mstest")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("make the build folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("open the build lock: %w", err)
	}
	defer lock.Close() //nolint:errcheck // closing unlocks; nothing was written
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock the build folder: %w", err)
	}
	target := filepath.Join(dir, "millstream")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", target, "./cmd/millstream")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build millstream: %w: %s", err, out)
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", fmt.Errorf("look at the built program: %w", err)
	}
	own := target + "-" + strconv.FormatInt(info.ModTime().UnixNano(), 36)
	if err := os.Link(target, own); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("keep the built program: %w", err)
	}
	return own, removeOld(target, own)
}

// removeOld removes programs of earlier builds.
func removeOld(target, keep string) error {
	builds, err := filepath.Glob(target + "-*")
	if err != nil {
		return fmt.Errorf("list built programs: %w", err)
	}
	for _, b := range builds {
		if info, err := os.Stat(b); err == nil && b != keep && time.Since(info.ModTime()) > keepBuilds {
			if err := os.Remove(b); err != nil {
				return fmt.Errorf("remove an old program: %w", err)
			}
		}
	}
	return nil
}

// module is the product's module. The working tree of a test module that replaces it by a path is found by this name too.
const module = "github.com/millstream/millstream"

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
