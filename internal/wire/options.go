package wire

import (
	"time"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
)

// Defaults of Options.
const (
	DefaultMaxLineBytes  = 1 << 20
	DefaultMaxColumns    = 1000
	DefaultMaxBodyBytes  = 64 << 20
	DefaultMaxFutureSkew = 10 * time.Minute // for callers; in Options zero means off
)

// Options are the limits of one request.
type Options struct {
	// ReceivedAt is the event time of rows that carry none, and what MaxAge and MaxFutureSkew are measured from. Required.
	ReceivedAt time.Time
	// MaxLineBytes is the longest row in bytes of its wire form; a longer one is refused. 0 means DefaultMaxLineBytes.
	MaxLineBytes int
	// MaxColumns is how many columns a batch may have before further fields go to signal.OverflowColumn. 0 means DefaultMaxColumns.
	MaxColumns int
	// MaxBodyBytes is the greatest size of a body that must be whole. 0 means DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// MaxFutureSkew is how far a row may lie after ReceivedAt (creation_grace_period). 0 = no limit.
	MaxFutureSkew time.Duration
	// MaxAge is how far a row may lie before ReceivedAt (reject_old_samples_max_age). 0 = no limit.
	MaxAge time.Duration
	// MaxLabels, MaxLabelName and MaxLabelValue bound the label set of a stream or series: how many, and the bytes of a name and of a
	// value (max_label_names_per_series, max_label_name_length, max_label_value_length). 0 = no limit.
	MaxLabels, MaxLabelName, MaxLabelValue int
}

// CheckLabels returns why a label set is above the limits, nil when it is not.
func (o Options) CheckLabels(set *signal.LabelSet) error {
	if o.MaxLabels > 0 && set.Len() > o.MaxLabels {
		return Reject(TooManyLabels, "%d labels, the limit is %d (%s)", set.Len(), o.MaxLabels, limits.MaxLabelNamesPerSeries)
	}
	if o.MaxLabelName <= 0 && o.MaxLabelValue <= 0 {
		return nil
	}
	for i := range set.Len() {
		name, value := set.At(i)
		if o.MaxLabelName > 0 && len(name) > o.MaxLabelName {
			return Reject(LabelNameTooLong, "label name %.64q has %d bytes, the limit is %d (%s)", name, len(name), o.MaxLabelName,
				limits.MaxLabelNameLength)
		}
		if o.MaxLabelValue > 0 && len(value) > o.MaxLabelValue {
			return Reject(LabelValueTooLong, "the value of label %.64q has %d bytes, the limit is %d (%s)", name, len(value), o.MaxLabelValue,
				limits.MaxLabelValueLength)
		}
	}
	return nil
}

// WithDefaults returns o with the defaults filled in.
func (o Options) WithDefaults() Options {
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = DefaultMaxLineBytes
	}
	if o.MaxColumns <= 0 {
		o.MaxColumns = DefaultMaxColumns
	}
	if o.MaxBodyBytes <= 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	return o
}

// Window is the range of event times that a request may carry.
type Window struct {
	received       int64
	oldest, newest int64 // nanoseconds, inclusive
	aged, skewed   bool  // whether oldest and newest hold
}

// Window returns the range that o allows.
func (o Options) Window() Window {
	w := Window{received: o.ReceivedAt.UnixNano()}
	if o.MaxAge > 0 {
		w.aged, w.oldest = true, w.received-int64(o.MaxAge)
	}
	if o.MaxFutureSkew > 0 {
		w.skewed, w.newest = true, w.received+int64(o.MaxFutureSkew)
	}
	return w
}

// Received returns the time of receipt in nanoseconds since the epoch.
func (w Window) Received() int64 { return w.received }

// Check returns nil when a row of this event time (nanoseconds since the epoch) may be stored, else a Rejection that names the
// oldest or the newest time that may.
func (w Window) Check(nanos int64) error {
	switch {
	case w.aged && nanos < w.oldest:
		return Reject(TooOld, "time %s is too old: the oldest accepted is %s", formatNanos(nanos), formatNanos(w.oldest))
	case w.skewed && nanos > w.newest:
		return Reject(TooNew, "time %s lies too far in the future: the newest accepted is %s", formatNanos(nanos), formatNanos(w.newest))
	default:
		return nil
	}
}

func formatNanos(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }
