package deploy_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages returns the pages for operators by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "docs", "operate", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	out := make(map[string]string)
	for _, path := range found {
		out[filepath.Base(path)] = read(t, path)
	}
	return out
}

func TestPagesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	known := commands(t)
	block, line, checked := regexp.MustCompile("(?s)```sh\n(.*?)```"), regexp.MustCompile(`(?m)(?:^|\s)(millstream [a-z][^#\n]*)`), 0
	for name, text := range pages(t) {
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			for _, l := range line.FindAllStringSubmatch(b[1], -1) {
				require.Empty(t, checkCommand(known, l[1]), "%s: %s", name, l[1])
				checked++
			}
		}
	}
	require.Greater(t, checked, 5)
}

func TestPagesNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	code := source(t)
	metric := regexp.MustCompile("`((?:millstream|work)_[a-z_]+)`")
	found := metric.FindAllStringSubmatch(pages(t)["cluster.md"], -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		require.Contains(t, code, `"`+m[1]+`"`)
	}
}

func TestPagesNameSettingsThatExist(t *testing.T) {
	t.Parallel()
	settings := make(map[string]bool)
	section := ""
	for line := range strings.Lines(read(t, "..", "docs", "config.md")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "## ["); ok {
			section = strings.TrimSuffix(name, "]")
			settings[section] = true
		}
		if m := regexp.MustCompile("^\\| `(\\w+)` ").FindStringSubmatch(line); m != nil {
			settings[section+"."+m[1]] = true
		}
	}
	require.True(t, settings["node.id"])
	for name, text := range pages(t) {
		for _, m := range regexp.MustCompile("`([a-z_]+)(\\.[a-z_]+)`").FindAllStringSubmatch(text, -1) {
			if settings[m[1]] && m[2] != ".yaml" {
				require.True(t, settings[m[1]+m[2]], "%s: %s%s is not in docs/config.md", name, m[1], m[2])
			}
		}
	}
}

func TestPagesLinkToWhatExists(t *testing.T) {
	t.Parallel()
	for name, text := range pages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^):#]+)`).FindAllStringSubmatch(text, -1) {
			_, err := filepath.EvalSymlinks(filepath.Join("..", "docs", "operate", m[1]))
			require.NoError(t, err, "%s: %s", name, m[1])
		}
	}
}

// source returns the text of the program.
func source(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(filepath.Join("..", "internal"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			b.WriteString(read(t, path))
		}
		return err
	}))
	return b.String()
}
