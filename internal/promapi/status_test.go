package promapi_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promapi"
)

// The version that clients choose their features by is that of the engine: module v0.316.0 is Prometheus 3.16.0.
func TestCompatibleIsTheEnginesVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	m := regexp.MustCompile(`github.com/prometheus/prometheus v0\.(\d)0?(\d+)\.(\d+)\n`).FindSubmatch(text)
	require.NotNil(t, m)
	require.Equal(t, promapi.Compatible, string(m[1])+"."+string(m[2])+"."+string(m[3]))
}
