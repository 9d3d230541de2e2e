package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// findPrograms returns the folder of initdb and postgres: the one on PATH, else the highest version in Debian's place, which is not
// on PATH.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", fmt.Errorf("look for PostgreSQL: %w", err)
	}
	if len(found) == 0 {
		return "", ErrNotInstalled
	}
	slices.SortFunc(found, func(a, b string) int { return majorVersion(a) - majorVersion(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

// majorVersion returns 15 for /usr/lib/postgresql/15/bin/initdb, and 0 for a folder that is no number.
func majorVersion(initdb string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	if err != nil {
		return 0
	}
	return n
}

// serverUser returns the ids under which the server runs: nil (the caller's own) unless the caller is root.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the documented value for "the caller's own"
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the id of user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the group of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody to run it as")
}
