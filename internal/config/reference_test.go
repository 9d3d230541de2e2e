package config_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/config"
)

//go:generate go test -run ^TestReferenceIsCurrent$ -update .

var update = flag.Bool("update", false, "write docs/config.md")

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "config.md")
	var want bytes.Buffer
	require.NoError(t, config.WriteReference(&want))
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "run make generate")
}
