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

var (
	errSize     = errors.New(`a size is expected, as in "32MiB", "1GB" or 1048576`)
	errDuration = errors.New(`a duration is expected, as in "90s", "10m", "1d12h", "2w" or 0`)
)

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

// durationUnits stand in the order in which a duration names them.
var durationUnits = []struct {
	suffix string
	factor time.Duration
}{{"w", 7 * day}, {"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// parseDuration reads Loki's writing of durations: whole numbers with units, larger units first, or "0".
func parseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	var total time.Duration
	rest := text
	for _, u := range durationUnits {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		after, ok := strings.CutPrefix(rest[len(digits):], u.suffix)
		if digits == "" || !ok || u.suffix == "m" && strings.HasPrefix(after, "s") {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64((math.MaxInt64-total)/u.factor) {
			return 0, errors.New("the duration is longer than 292 years")
		}
		total += time.Duration(n) * u.factor
		rest = after
	}
	if rest != "" || text == "" {
		return 0, errDuration
	}
	return total, nil
}

// showDuration writes d so that parseDuration reads it back.
func showDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range durationUnits {
		if n := d / u.factor; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.suffix)
			d -= n * u.factor
		}
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}
