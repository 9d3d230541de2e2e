// Package promwrite decodes Prometheus remote write, versions 1.0 and 2.0, into rows in the layout of signal.MetricBuilder: a row a
// sample or native histogram.
//
// Exemplars of a series stand in the row of its last sample of the request, or make a row of their own without a value when there is
// no sample. Metadata of metrics becomes rows without labels and without a value (docs/format/metrics.md). Values keep their bits. A
// staleness marker, which is one NaN among others, has no value but signal.FlagNoValue. A label without a value is no label.
//
// A series with bad labels is refused with all it has; a sample with a bad time or a histogram that contradicts itself is refused
// alone. Messages are walked over where they stand and never copied as a whole.
//
// Senders of version 1.0 repeat the labels of their series with every request, byte by byte. Known remembers them within a bound, so that
// they are read, checked and put into their stored form once.
//
// The package imports what package wire may, its sibling nativehist, and Prometheus' types of histograms.
package promwrite
