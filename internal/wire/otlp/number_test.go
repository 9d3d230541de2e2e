package otlp_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/wire/otlp"
)

func TestIntegersInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`0`: "0", `-0`: "0", `"0007"`: "7", `5.0`: "5", `"5.000"`: "5", `1e3`: "1000", `"1E+3"`: "1000", `15e-1`: "",
		`150e-1`: "15", `0.5e1`: "5",
		`9223372036854775807`: "9223372036854775807", `9223372036854775808`: "", `-9223372036854775808`: "-9223372036854775808",
		`-9223372036854775809`: "", `9.223372036854775807e18`: "9223372036854775807", `1e19`: "", `1e64`: "", `1e65`: "", `1e999999999999`: "",
		`0e5`: "0", `"0.00"`: "0", `""`: "", `"-"`: "", `"."`: "", `"e5"`: "", `".e5"`: "", `"1e"`: "", `"1.2.3"`: "", `" 5"`: "", `"5x"`: "",
		`"+5"`: "", `"0x5"`: "", `true`: "", `[]`: "", `"NaN"`: "", `"00000000000000000000000000000000000000000000000000000000000000005"`: "",
	} {
		rows, _, err := decode(t, otlp.DecodeTraces, attributeBody(`{"intValue":`+text+`}`), otlp.JSON, options())
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, "int64 "+want, rows[0]["a"], text)
	}
}

func TestDoublesInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1`: "1", `-0.5`: "-0.5", `"1e-7"`: "1e-07", `"NaN"`: "NaN", `"Infinity"`: "+Inf", `"-Infinity"`: "-Inf", `1e400`: "", `"nan"`: "",
		`"0x1p4"`: "", `"1_000"`: "", `""`: "", `true`: "", strconv.Quote("inf"): "",
	} {
		rows, _, err := decode(t, otlp.DecodeTraces, attributeBody(`{"doubleValue":`+text+`}`), otlp.JSON, options())
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, "float64 "+want, rows[0]["a"], text)
	}
}
