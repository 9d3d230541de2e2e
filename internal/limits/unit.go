package limits

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
	day = 24 * time.Hour
)

var (
	errSize     = errors.New(`a size is expected, as in "256KB", "32MiB" or 1048576`)
	errDuration = errors.New(`a duration is expected, as in "90s", "10m", "1d12h", "2w" or 0`)
)

// sizeUnits are Loki's: every prefix is a power of 1024, with and without the i. Longer suffixes stand before their endings.
var sizeUnits = []struct {
	suffix string
	factor int64
}{
	{"kib", kib},
	{"mib", mib},
	{"gib", kib * mib},
	{"tib", mib * mib},
	{"kb", kib},
	{"mb", mib},
	{"gb", kib * mib},
	{"tb", mib * mib},
	{"b", 1},
}

func parseSize(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return 0, errors.New("a size is not negative")
		}
		return v, nil
	case string:
		return sizeOf(v)
	default:
		return 0, errSize
	}
}

// sizeOf reads bytes: a whole number with one of sizeUnits, in any case, or none.
func sizeOf(text string) (int64, error) {
	factor := int64(1)
	digits := strings.ToLower(text)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
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

// showSize writes bytes in the largest unit that divides them, in quotes, or as a plain number.
func showSize(n int64) string {
	for _, u := range []struct {
		suffix string
		factor int64
	}{{"TiB", mib * mib}, {"GiB", kib * mib}, {"MiB", mib}, {"KiB", kib}} {
		if n != 0 && n%u.factor == 0 {
			return fmt.Sprintf(`"%d%s"`, n/u.factor, u.suffix)
		}
	}
	return strconv.FormatInt(n, 10)
}

func unquote(text string) string { return strings.Trim(text, `"`) }

// durationUnits stand in the order in which a duration names them.
var durationUnits = []struct {
	suffix string
	factor time.Duration
}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

func parseDuration(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		if v == 0 {
			return 0, nil
		}
	case string:
		d, err := ParseDuration(v)
		return int64(d), err
	}
	return 0, errDuration
}

// ParseDuration reads Loki's writing of durations: whole numbers with units, larger units first, as in "1d12h", or "0".
func ParseDuration(text string) (time.Duration, error) {
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

// ShowDuration writes d, whole milliseconds, so that ParseDuration reads it back.
func ShowDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range durationUnits[1:] { // years are read, not written: few know their length
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
