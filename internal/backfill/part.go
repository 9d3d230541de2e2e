package backfill

import (
	"context"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

// Sample is one sample of a series. It and what it points to are valid during the call that hands it out.
type Sample struct {
	Labels    labels.Labels
	Millis    int64 // since 1970
	Value     float64
	Histogram *histogram.Histogram      // nil unless the sample is one
	Float     *histogram.FloatHistogram // the same with counts that are no whole numbers
	Start     int64                     // milliseconds at which the counter began, 0 = not known
	Exemplars []exemplar.Exemplar
	Family    Family // what the file says of the metric; zero in blocks, which say nothing
}

// Family is what a file says of a metric.
type Family struct {
	Type       model.MetricType
	Help, Unit string
}

// A Part is samples in an order that is the same every time.
type Part interface {
	// ID tells the part from others, and from what may once stand in its place with other samples.
	ID() string
	// Name is what a person calls it.
	Name() string
	// Samples is about how many it has.
	Samples() int64
	// Each calls visit with every sample but the first skip ones, until visit returns an error, which is Each's then. Refused is told why
	// something that is counted as a sample cannot be one.
	Each(ctx context.Context, skip int64, visit func(*Sample) error, refused func(reason string)) error
}
