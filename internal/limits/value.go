package limits

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/millstream/millstream/internal/bytesize"
)

// Kind is how the value of a limit is written. Its text stands in the reference.
type Kind string

// The kinds.
const (
	Mebibytes Kind = "number of MiB" // without a unit: 4, 0.5
	Size      Kind = "size"          // "256KB", 1048576
	Duration  Kind = "duration"      // "1d12h", 0
	Number    Kind = "number"
	Flag      Kind = "true or false"
)

type duration = time.Duration

func (d Definition) duration(field func(*Limits) *duration) Definition {
	d.get = func(l *Limits) int64 { return int64(*field(l)) }
	d.set = func(l *Limits, v int64) { *field(l) = duration(v) }
	return d
}

// Set reads v, a string, int64, float64 or bool as a settings file holds it, into the limit's field of l. The error says what is
// expected; l is unchanged then.
func (d Definition) Set(l *Limits, v any) error {
	n, err := d.parse(v)
	if err == nil {
		d.set(l, n)
	}
	return err
}

// Read turns a text, as a variable of the environment holds it, into what Set takes.
func (d Definition) Read(text string) any {
	switch d.Kind {
	case Mebibytes:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	case Number:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case Flag:
		if text == "true" || text == "false" {
			return text == "true"
		}
	case Size, Duration:
	}
	return text
}

// Show returns the limit's value in l, in a form that TOML, YAML and JSON read alike and that Set takes back.
func (d Definition) Show(l Limits) string {
	n := d.get(&l)
	switch d.Kind {
	case Mebibytes:
		return strconv.FormatFloat(float64(n)/float64(mib), 'f', -1, 64)
	case Size:
		return bytesize.Literal(n)
	case Duration:
		return strconv.Quote(ShowDuration(time.Duration(n)))
	case Flag:
		return strconv.FormatBool(n != 0)
	default:
		return strconv.FormatInt(n, 10)
	}
}

// parse returns the value as the field holds it.
func (d Definition) parse(v any) (n int64, err error) {
	switch d.Kind {
	case Mebibytes:
		n, err = parseMebibytes(v)
	case Size:
		n, err = parseSize(v)
	case Duration:
		n, err = parseDuration(v)
	case Flag:
		b, ok := v.(bool)
		if !ok {
			return 0, errors.New("true or false is expected")
		}
		if b {
			n = 1
		}
	default:
		i, ok := v.(int64)
		if !ok || i < 0 || i > math.MaxInt32 {
			return 0, errors.New("a whole number of at least 0 is expected")
		}
		n = i
	}
	if err == nil && n < d.Least {
		least := strconv.FormatInt(d.Least, 10)
		if d.Kind == Size {
			least = bytesize.Format(d.Least)
		}
		return 0, fmt.Errorf("at least %s is needed", least)
	}
	return n, err
}

func parseMebibytes(v any) (int64, error) {
	f, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		f, ok = float64(n), true
	}
	if !ok || !(f >= 0 && f <= math.MaxInt32) { // NaN is neither
		return 0, errors.New("a number of MiB of at least 0 is expected, without a unit")
	}
	return int64(math.Ceil(f * float64(mib))), nil
}
