package parquetfile_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.StringN(0, 200, -1),
			rapid.StringOfN(rapid.SampledFrom([]rune{utf8.MaxRune, '\ud7ff', 'é', 'a', '\x7f', '߿', '￿'}), 10, 80, -1)).Draw(t, "value")
		least, exact := parquetfile.LowerBound(v)
		require.LessOrEqual(t, least, v)
		check(t, least, exact, v)
		greatest, exact, ok := parquetfile.UpperBound(v)
		if ok {
			require.GreaterOrEqual(t, greatest, v)
			check(t, greatest, exact, v)
		}
	})
	_, _, ok := parquetfile.UpperBound(strings.Repeat(string(utf8.MaxRune), 20))
	require.False(t, ok)
}

func check(t require.TestingT, bound string, exact bool, v string) {
	require.LessOrEqual(t, len(bound), parquetfile.MaxBoundBytes)
	require.True(t, utf8.ValidString(bound))
	require.Equal(t, bound == v, exact)
}
