package bytesize

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Binary units in bytes.
const (
	KiB = int64(1) << 10
	MiB = int64(1) << 20
	GiB = int64(1) << 30
	TiB = int64(1) << 40
)

// Errors of the parsers.
var (
	ErrSyntax = errors.New(`a size is expected, as in "32MiB", "1GB" or 1048576`)
	ErrRange  = errors.New("the size is larger than any machine's")
)

// unit is a suffix and what it multiplies.
type unit struct {
	suffix string
	factor int64
}

// Tables of units. Longer suffixes stand before their endings.
var (
	iecUnits = []unit{
		{"KiB", KiB},
		{"MiB", MiB},
		{"GiB", GiB},
		{"TiB", TiB},
		{"kB", 1e3},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"B", 1},
	}
	lokiUnits = []unit{
		{"kib", KiB}, {"mib", MiB}, {"gib", GiB}, {"tib", TiB}, {"kb", KiB}, {"mb", MiB}, {"gb", GiB}, {"tb", TiB}, {"b", 1},
	}
)

// Parse reads a whole number of bytes with a unit or none, where KiB is 1024 and kB or KB 1000. Case counts.
func Parse(text string) (int64, error) { return parse(text, iecUnits) }

// ParseLoki reads a whole number of bytes with a unit or none, where every prefix is a power of 1024, with and without the i, in any case.
func ParseLoki(text string) (int64, error) { return parse(strings.ToLower(text), lokiUnits) }

func parse(text string, units []unit) (int64, error) {
	factor := int64(1)
	digits := text
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			digits, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, ErrSyntax
	}
	if int64(n) > math.MaxInt64/factor {
		return 0, ErrRange
	}
	return int64(n) * factor, nil
}

// Literal writes n as Format does, in quotes where it has a unit: TOML, YAML and JSON read it alike.
func Literal(n int64) string {
	if text := Format(n); !strings.HasSuffix(text, "B") {
		return text
	}
	return `"` + Format(n) + `"`
}

// Format writes n, not negative, in the largest binary unit that divides it, as in 32MiB, or as a number without a unit. Both parsers read
// it back.
func Format(n int64) string {
	for _, u := range []unit{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if n != 0 && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}
