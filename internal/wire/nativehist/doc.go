// Package nativehist is the stored form of Prometheus' native histograms: one JSON object in signal.HistogramColumn.
//
//	{"count":12,"sum":3.5,"schema":3,"zeroThreshold":0.001,"zeroCount":2,
//	 "positiveSpans":[0,2,1,1],"positiveCounts":[4,5,1],"negativeSpans":[],…,"customValues":[…],"resetHint":"gauge","float":true}
//
// Spans are pairs of offset and length, one after the other. Counts are absolute, an entry a bucket. Without "float" all counts are
// integers with all their digits. Members of the zero value are left out, "count", "sum" and "schema" never. Floats that JSON has no
// number for are the strings "NaN", "+Inf" and "-Inf"; the sum of a staleness marker is "stale".
//
// Histograms of OTLP have other members (docs/protocol/otlp.md) and no "schema": IsNative tells the two apart.
//
// The package imports nothing of the project but fault.
package nativehist
