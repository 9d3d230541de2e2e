package sqlplan

import (
	"math"
	"math/big"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// Options of databases and streams.
const (
	OptionRowsRateLimit = "ingest_rows_rate_limit" // rows a second, decimal, "0" = none; databases only
	OptionRetention     = "retention"              // age at which rows expire, see ParseRetention
	// OptionRemoteWriteStatus is the status of remote write requests above a rate, "429" or "503"; databases only.
	OptionRemoteWriteStatus = "remote_write_reject_status"
)

// checkOption returns the canonical value of an option of a database or stream ("database", "stream").
func checkOption(what, key, value string) (string, error) {
	switch {
	case key == OptionRowsRateLimit && what == "database":
		return checkRowsRateLimit(value)
	case key == OptionRemoteWriteStatus && what == "database":
		if value != "429" && value != "503" {
			return "", fault.New(fault.Invalid, "option %q must be 429 or 503, not %.64q", key, value)
		}
		return value, nil
	case key == OptionRetention:
		if _, err := ParseRetention(value); err != nil {
			return "", err
		}
		return value, nil
	default:
		return "", unknownOption(what, key)
	}
}

func knownOption(what, key string) bool {
	return key == OptionRetention || what == "database" && (key == OptionRowsRateLimit || key == OptionRemoteWriteStatus)
}

func unknownOption(what, key string) error {
	known := `"retention"`
	if what == "database" {
		known = `"ingest_rows_rate_limit", "remote_write_reject_status", "retention"`
	}
	return fault.New(fault.Invalid, "unknown option %q of a %s; there is %s", key, what, known)
}

// checkRowsRateLimit takes a decimal integer from 0 to 2^64-1 without sign, and returns it without leading zeros.
func checkRowsRateLimit(value string) (string, error) {
	digits := value != ""
	for i := range len(value) {
		digits = digits && '0' <= value[i] && value[i] <= '9'
	}
	n, ok := new(big.Int), false
	if digits {
		n, ok = n.SetString(value, 10)
	}
	if !ok || !n.IsUint64() {
		return "", fault.New(fault.Invalid, "option %q must be a whole number of rows a second from 0 (none) to %d, not %.64q",
			OptionRowsRateLimit, uint64(math.MaxUint64), value)
	}
	return n.String(), nil
}

// retentionUnits are the units of a retention in the order in which they may follow each other.
func retentionUnits() []struct {
	name string
	size time.Duration
} {
	const day = 24 * time.Hour
	return []struct {
		name string
		size time.Duration
	}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
}

// ParseRetention reads an age: numbers with the units y (365 days), w, d, h, m, s, each at most once and in this order, such as "30d" or
// "1d12h".
// Zero, an empty text, an unknown or missing unit and more than 292 years are refused.
func ParseRetention(s string) (time.Duration, error) {
	bad := func() error {
		return fault.New(fault.Invalid, "option %q: %.64q is no age above zero such as '30d' or '1d12h' (units y, w, d, h, m, s)",
			OptionRetention, s)
	}
	rest, units, total := s, retentionUnits(), time.Duration(0)
	for rest != "" {
		digits := run(rest, func(r rune) bool { return '0' <= r && r <= '9' })
		const most = 11 // digits of 292 years in seconds
		if digits == 0 || digits > most || digits == len(rest) {
			return 0, bad()
		}
		var n int64
		for _, c := range rest[:digits] {
			n = n*10 + int64(c-'0')
		}
		unit := rest[digits : digits+1]
		for len(units) > 0 && units[0].name != unit {
			units = units[1:]
		}
		if len(units) == 0 || n > int64((math.MaxInt64-total)/units[0].size) {
			return 0, bad()
		}
		total += time.Duration(n) * units[0].size
		rest, units = rest[digits+1:], units[1:]
	}
	if total == 0 {
		return 0, bad()
	}
	return total, nil
}

// ShorterRetention returns the shorter of an age, 0 for no limit, and that of options (OptionRetention): the shortest of the org's, the
// database's and the stream's counts (decisions E7). Options were checked when they were set; a text that a newer program wrote and this
// one cannot read keeps rows.
func ShorterRetention(age time.Duration, options map[string]string) time.Duration {
	if own, err := ParseRetention(options[OptionRetention]); err == nil && (age <= 0 || own < age) {
		return own
	}
	return age
}
