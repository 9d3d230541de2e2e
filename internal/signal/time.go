package signal

import (
	"bytes"
	"math"

	"github.com/millstream/millstream/internal/fault"
)

// timeFields are the top-level fields that may carry the event time, the most wanted first.
//
//nolint:gochecknoglobals // an immutable list
var timeFields = [...]string{TimeColumn, "@timestamp", "timestamp", "time", "_time", "ts"}

// TimeFieldRank returns the rank of a top-level field as the event time, 0 the most wanted. It is false for other fields. Of
// several in one row the one of the least rank is the time and leaves the row, the others stay fields.
func TimeFieldRank(name []byte) (int, bool) {
	if len(name) < 2 || len(name) > len(timeFields[0]) || (name[0] != 't' && name[0] != '_' && name[0] != '@') {
		return 0, false
	}
	for i, f := range timeFields {
		if string(name) == f {
			return i, true
		}
	}
	return 0, false
}

// Bounds of an event time in nanoseconds since the epoch: the years 1678 to 2262.
const (
	minNanos = math.MinInt64
	maxNanos = math.MaxInt64
)

// ParseTime returns the event time that text stands for, in nanoseconds since the epoch, exact.
//
// A number (docs/format/schema.md) counts seconds below 1e11, milliseconds below 1e14, microseconds below 1e17, else
// nanoseconds; fractions and exponents are allowed, digits below a nanosecond are cut. Other text is RFC 3339 with any offset
// (±hh:mm, ±hhmm, ±hh, Z in either case); "T" may be a blank, and a text without a zone is UTC. A leap second (23:59:60) is the
// second after it.
func ParseTime(text []byte) (int64, error) {
	text = bytes.TrimSpace(text)
	if isDateTime(text) {
		return parseDateTime(text)
	}
	if n, ok := parseNumber(text); ok {
		return n.nanos()
	}
	return 0, badTime(text)
}

func badTime(text []byte) error {
	return fault.New(fault.Invalid, "%.64q is no time (RFC 3339, or a number of s, ms, µs or ns since 1970, is)", text)
}

func outOfRange(text []byte) error {
	return fault.New(fault.Invalid, "time %.64q is outside the years 1678 to 2262", text)
}

// decimal is digits × 10^exp.
type decimal struct {
	text   []byte
	neg    bool
	digits [maxDigits]byte // digits[first:n] are the digits without leading zeros
	first  int
	n      int
	exp    int
}

// maxDigits is the length of the longest number that is read.
const maxDigits = 64

// parseNumber reads [-]digits[.digits][e[±]digits]. It is false for any other text.
func parseNumber(text []byte) (decimal, bool) {
	d := decimal{text: text}
	s := text
	if len(s) > 0 && s[0] == '-' {
		d.neg, s = true, s[1:]
	}
	if len(s) == 0 || s[0] < '0' || s[0] > '9' || len(s) > maxDigits {
		return d, false
	}
	i, point := 0, -1
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d.digits[d.n] = c
			d.n++
			continue
		case c == '.' && point < 0:
			point = d.n
			continue
		}
		break
	}
	if point >= 0 {
		d.exp = point - d.n
	}
	if i < len(s) {
		e, ok := parseExponent(s[i:])
		if !ok {
			return d, false
		}
		d.exp += e
	}
	for d.first < d.n && d.digits[d.first] == '0' {
		d.first++
	}
	return d, true
}

func parseExponent(s []byte) (int, bool) {
	if len(s) < 2 || (s[0] != 'e' && s[0] != 'E') {
		return 0, false
	}
	s = s[1:]
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 3 {
		return 0, false
	}
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// nanos tells the unit by the size of the whole part and scales without a float.
func (d *decimal) nanos() (int64, error) {
	digits := d.digits[d.first:d.n]
	if len(digits) == 0 {
		return 0, nil
	}
	whole := len(digits) + d.exp // digits before the point
	shift := d.exp
	switch {
	case whole <= 11: // < 1e11 s
		shift += 9
	case whole <= 14: // < 1e14 ms
		shift += 6
	case whole <= 17: // < 1e17 µs
		shift += 3
	}
	if whole > 19 {
		return 0, outOfRange(d.text)
	}
	var n uint64
	for i := range len(digits) + shift {
		if n > (math.MaxUint64-9)/10 {
			return 0, outOfRange(d.text)
		}
		n *= 10
		if i < len(digits) {
			n += uint64(digits[i] - '0')
		}
	}
	if n > maxNanos {
		return 0, outOfRange(d.text)
	}
	if d.neg {
		return -int64(n), nil
	}
	return int64(n), nil
}

// isDateTime reports whether the separators of yyyy-mm-dd[T ]hh:mm:ss are in their places.
func isDateTime(s []byte) bool {
	return len(s) >= 19 && s[4] == '-' && s[7] == '-' && (s[10] == 'T' || s[10] == 't' || s[10] == ' ') && s[13] == ':' && s[16] == ':'
}

// parseDateTime reads yyyy-mm-dd[T ]hh:mm:ss[.fraction][zone], a text that isDateTime holds for.
func parseDateTime(text []byte) (int64, error) {
	s := text
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
		second < 0 || second > 60 {
		return 0, badTime(text)
	}
	s = s[19:]
	fraction, s, ok := parseFraction(s)
	if !ok {
		return 0, badTime(text)
	}
	offset, ok := parseZone(s)
	if !ok {
		return 0, badTime(text)
	}
	t := int64(daysSinceEpoch(year, month, day))*86400 + int64(hour*3600+minute*60+second-offset)
	if second == 60 && (t%86400 != 0) {
		return 0, badTime(text)
	}
	if t <= minNanos/1_000_000_000 || t >= maxNanos/1_000_000_000 {
		return 0, outOfRange(text)
	}
	return t*1_000_000_000 + fraction, nil
}

// parseFraction reads an optional ".digits" (or ",digits") as nanoseconds, cutting what is below.
func parseFraction(s []byte) (nanos int64, rest []byte, ok bool) {
	if len(s) == 0 || (s[0] != '.' && s[0] != ',') {
		return 0, s, true
	}
	scale := int64(100_000_000)
	i := 1
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		nanos += int64(s[i]-'0') * scale
		scale /= 10
	}
	return nanos, s[i:], i > 1
}

// parseZone returns the offset east of UTC in seconds.
func parseZone(s []byte) (int, bool) {
	s = bytes.TrimLeft(s, " ")
	if len(s) == 0 || (len(s) == 1 && (s[0] == 'Z' || s[0] == 'z')) || string(s) == "UTC" {
		return 0, true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	digits := bytes.Replace(s[1:], []byte{':'}, nil, 1)
	hours, minutes := -1, 0
	switch len(digits) {
	case 2:
		hours = number(digits)
	case 4:
		hours, minutes = number(digits[:2]), number(digits[2:])
	}
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	offset := hours*3600 + minutes*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// number reads digits; -1 when one of them is none.
func number(s []byte) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func daysIn(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	default:
		return 31
	}
}

// daysSinceEpoch returns the days from 1970-01-01 to a date of the years 0 to 9999. It counts years from March, so that the leap
// day is the last of its year.
func daysSinceEpoch(year, month, day int) int {
	month -= 3
	if month < 0 {
		month += 12
		year--
	}
	const era = 400 // years, after which the calendar repeats
	year += era     // not negative
	leaps := year/4 - year/100 + year/400
	const daysToEpoch = 865_565 // from 0000-03-01, moved by one era, to 1970-01-01
	return year*365 + leaps + (month*153+2)/5 + day - 1 - daysToEpoch
}
