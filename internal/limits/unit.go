package limits

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/bytesize"
)

const (
	mib = bytesize.MiB
	day = 24 * time.Hour
)

var errDuration = errors.New(`a duration is expected, as in "90s", "10m", "1d12h", "2w" or 0`)

func parseSize(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return 0, errors.New("a size is not negative")
		}
		return v, nil
	case string:
		return bytesize.ParseLoki(v)
	default:
		return 0, bytesize.ErrSyntax
	}
}

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
