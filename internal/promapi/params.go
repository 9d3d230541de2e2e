package promapi

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
)

// badParam is a parameter that cannot be read, in Prometheus' words.
func badParam(name string, err error) error {
	return &apiError{kind: badData, err: fmt.Errorf("invalid parameter %q: %w", name, err)}
}

// time reads a time; absent is the default.
func (c *call) time(name string, absent time.Time) (time.Time, error) {
	text := c.Form.Get(name)
	if text == "" {
		return absent, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return t, badParam(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

// required is time for a parameter that must be there.
func (c *call) required(name string) (time.Time, error) {
	t, err := parseTime(c.Form.Get(name))
	if err != nil {
		return t, badParam(name, err)
	}
	return t, nil
}

// parseTime reads seconds since 1970 with a fraction to the millisecond, or RFC 3339.
func parseTime(text string) (time.Time, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		seconds, fraction := math.Modf(v)
		fraction = math.Round(fraction*1000) / 1000
		return time.Unix(int64(seconds), int64(fraction*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	switch text { // years of more than four digits
	case minTime.Format(time.RFC3339Nano):
		return minTime, nil
	case maxTime.Format(time.RFC3339Nano):
		return maxTime, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// parseDuration reads seconds with a fraction, or Prometheus' form (1h30m).
func parseDuration(text string) (time.Duration, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		nanos := v * float64(time.Second)
		if math.IsNaN(nanos) || nanos >= math.MaxInt64 || nanos < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(nanos), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}

// limit reads the greatest number of results, 0 = all.
func (c *call) limit() (int, error) {
	text := c.Form.Get("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 0 {
		err = errors.New("limit must be non-negative")
	}
	if err != nil {
		return 0, badParam("limit", err)
	}
	return n, nil
}

// selection is the parameters of the calls about series and labels.
type selection struct {
	limit    int
	from, to int64 // milliseconds, inclusive
	sets     [][]*labels.Matcher
}

func (a *API) selection(c *call) (s selection, err error) {
	if s.limit, err = c.limit(); err != nil {
		return s, err
	}
	start, err := c.time("start", minTime)
	if err != nil {
		return s, err
	}
	end, err := c.time("end", maxTime)
	if err != nil {
		return s, err
	}
	s.from, s.to = timestamp.FromTime(start), timestamp.FromTime(end)
	s.sets, err = a.parser.ParseMetricSelectors(c.Form["match[]"])
	if err != nil {
		return s, &apiError{kind: badData, err: err}
	}
	for _, set := range s.sets {
		if !selects(set) {
			return s, &apiError{kind: badData, err: errors.New("match[] must contain at least one non-empty matcher")}
		}
	}
	return s, nil
}

// selects reports whether a matcher set leaves any series out.
func selects(set []*labels.Matcher) bool {
	for _, m := range set {
		if m != nil && !m.Matches("") {
			return true
		}
	}
	return false
}

// hintLimit is one more than the limit, so that a cut can be told from a whole answer.
func hintLimit(limit int) int {
	if limit > 0 && limit < math.MaxInt {
		return limit + 1
	}
	return limit
}
