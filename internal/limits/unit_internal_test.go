package limits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDurationsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 1<<43).Draw(t, "ms")) * time.Millisecond
		got, err := ParseDuration(ShowDuration(d))
		require.NoError(t, err)
		require.Equal(t, d, got)
	})
	for _, text := range []string{"", "1", "m", "1m1h", "1.5h", "-1m", "1x", "10m ", "1ms1s"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
}

func TestSizesAreLokis(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "10B": 10, "256KB": 256 << 10, "256kb": 256 << 10, "256KiB": 256 << 10, "2 MB": 2 << 20, "3GiB": 3 << 30, "1TB": 1 << 40,
	} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, v := range []any{"", "KB", "-1", "1.5MB", "1PB", "9999999999TB", "1 000", int64(-1), 1.5, true} {
		_, err := parseSize(v)
		require.Error(t, err, v)
	}
}
