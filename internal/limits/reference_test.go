package limits_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/limits"
)

//go:generate go test -run ^TestReferenceIsCurrent$ -update .

var update = flag.Bool("update", false, "write the tables in docs/operate")

// The table stands between these lines.
const (
	tableBegins = "<!-- The table is made by make generate from internal/limits. -->\n"
	tableEnds   = "<!-- End of the table. -->\n"
)

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "docs", "operate")
	page, err := os.ReadFile(filepath.Join(folder, "limits.md"))
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(page), tableBegins)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, tableEnds)
	require.True(t, ok)
	var table, loki bytes.Buffer
	require.NoError(t, limits.WriteReference(&table))
	require.NoError(t, limits.WriteLoki(&loki))
	want := map[string]string{
		"limits.md":        head + tableBegins + table.String() + tableEnds + tail,
		"loki-limits.toml": loki.String(),
	}
	for name, text := range want {
		path := filepath.Join(folder, name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(got), "run make generate")
	}
}
