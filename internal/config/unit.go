package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	day = 24 * time.Hour
)

var errSize = errors.New(`a size is expected, as in "32MiB", "1GB" or 1048576`)

// unit is a suffix and what it multiplies.
type unit struct {
	suffix string
	factor int64
}

// sizeUnits holds longer suffixes before their endings.
var sizeUnits = []unit{
	{"KiB", kib},
	{"MiB", mib},
	{"GiB", gib},
	{"TiB", gib << 10},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// parseSize reads bytes: a whole number with one of sizeUnits or none.
func parseSize(text string) (int64, error) {
	factor := int64(1)
	digits := text
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			digits, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, errSize
	}
	if int64(n) > math.MaxInt64/factor {
		return 0, errors.New("the size is larger than any machine's")
	}
	return int64(n) * factor, nil
}

// showSize writes bytes in the largest binary unit that divides them, as TOML.
func showSize(n int64) string {
	for _, u := range []unit{{"TiB", gib << 10}, {"GiB", gib}, {"MiB", mib}, {"KiB", kib}} {
		if n != 0 && n%u.factor == 0 {
			return fmt.Sprintf(`"%d%s"`, n/u.factor, u.suffix)
		}
	}
	return strconv.FormatInt(n, 10)
}
