package archtest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoMachinePaths looks for absolute paths that exist on one person's machine only. A clone must work anywhere.
func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	const largest = 4 << 20 // files above it are data
	machine := regexp.MustCompile(`(^|[\s"'=(:])/(work|root|home|Users)/[A-Za-z0-9._-]+`)
	walk(t, func(name string) {
		path := filepath.Join(moduleRoot, name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		if info.Size() > largest {
			return
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for i, line := range bytes.Split(text, []byte("\n")) {
			if m := machine.Find(line); m != nil {
				t.Errorf("%s:%d names the machine path %q", name, i+1, bytes.TrimSpace(m))
			}
		}
	})
}
