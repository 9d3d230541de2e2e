package otlp

import (
	"bytes"
	"math"
	"strconv"
)

// parseUint reads an integer; "1e3" and "5.0" are integers too, as in the JSON form of protobuf.
func parseUint(s []byte) (uint64, bool) {
	if len(s) == 0 || len(s) > 64 {
		return 0, false
	}
	var n uint64
	for _, c := range s {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-d)/10 {
			return parseScaled(s)
		}
		n = n*10 + d
	}
	return n, true
}

// parseScaled reads a JSON number that has a fraction or an exponent and is an integer all the same.
func parseScaled(s []byte) (uint64, bool) {
	digits, scale, rest, ok := splitDecimal(s)
	if !ok {
		return 0, false
	}
	if len(rest) > 0 {
		e, err := strconv.Atoi(string(rest[1:]))
		if rest[0]|0x20 != 'e' || err != nil || e > 64 || e < -64 {
			return 0, false
		}
		scale += e
	}
	for scale < 0 && len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		scale++
	}
	if len(digits) == 0 {
		return 0, true
	}
	if scale < 0 {
		return 0, false
	}
	digits = append(digits, bytes.Repeat([]byte{'0'}, scale)...)
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, err == nil
}

// splitDecimal splits digits[.digits]rest. The value is digits × 10^scale. It is false without a digit.
func splitDecimal(s []byte) (digits []byte, scale int, rest []byte, ok bool) {
	i, point := 0, -1
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
			continue
		case c == '.' && point < 0:
			point = len(digits)
			continue
		}
		break
	}
	if point >= 0 {
		scale = point - len(digits)
	}
	return digits, scale, s[i:], len(digits) > 0
}

func parseInt(s []byte, least, greatest int64) (uint64, bool) {
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		s = s[1:]
	}
	n, ok := parseUint(s)
	switch {
	case !ok:
		return 0, false
	case neg:
		return -n, n <= -uint64(least)
	default:
		return n, n <= uint64(greatest)
	}
}

func parseEnum(names []string, s []byte) (uint64, bool) {
	for i, name := range names {
		if name == string(s) {
			return uint64(i), true
		}
	}
	return parseInt(s, math.MinInt32, math.MaxInt32)
}

// parseDouble reads a number, or a text of a number, NaN, Infinity or -Infinity.
func parseDouble(s []byte, quoted bool) (uint64, bool) {
	if quoted {
		switch string(s) {
		case "NaN":
			return math.Float64bits(math.NaN()), true
		case "Infinity", "+Infinity", "+Inf", "Inf":
			return math.Float64bits(math.Inf(1)), true
		case "-Infinity", "-Inf":
			return math.Float64bits(math.Inf(-1)), true
		}
		for _, c := range s { // ParseFloat also reads hexadecimal, underscores and words
			switch {
			case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c|0x20 == 'e':
			default:
				return 0, false
			}
		}
	}
	f, err := strconv.ParseFloat(string(s), 64)
	return math.Float64bits(f), err == nil
}
