package bytesize_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/bytesize"
)

func TestWhatIsWrittenReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<62).Draw(t, "n") &^ (1<<rapid.IntRange(0, 61).Draw(t, "zeros") - 1)
		for _, parse := range []func(string) (int64, error){bytesize.Parse, bytesize.ParseLoki} {
			for _, text := range []string{bytesize.Format(n), strings.Trim(bytesize.Literal(n), `"`)} {
				got, err := parse(text)
				require.NoError(t, err)
				require.Equal(t, n, got)
			}
		}
	})
}

func TestTheTwoMeanings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int64{
		"0": {0, 0}, "10B": {10, 10}, "1KiB": {1 << 10, 1 << 10}, "2 MiB": {2 << 20, 2 << 20},
		"256KB": {256e3, 256 << 10}, "1GB": {1e9, 1 << 30},
	} {
		si, err := bytesize.Parse(text)
		require.NoError(t, err, text)
		loki, err := bytesize.ParseLoki(text)
		require.NoError(t, err, text)
		require.Equal(t, want, [2]int64{si, loki}, text)
	}
	_, err := bytesize.Parse("1mib")
	require.ErrorIs(t, err, bytesize.ErrSyntax, "case counts in settings")
	for _, bad := range []string{"", "B", "-1", "1.5MiB", "1 000", "0x1", "1PB"} {
		_, err := bytesize.Parse(bad)
		require.ErrorIs(t, err, bytesize.ErrSyntax, bad)
	}
	_, err = bytesize.Parse("9999999999TiB")
	require.ErrorIs(t, err, bytesize.ErrRange)
}
