package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of Metric. The data fields tell the metric's kind.
const (
	metricName        = 1
	metricDescription = 2
	metricUnit        = 3
	metricGauge       = 5
	metricSum         = 7
	metricHistogram   = 9
	metricExponential = 10
	metricSummary     = 11
	metricMetadata    = 12
)

// Fields of Gauge, Sum, Histogram, ExponentialHistogram and Summary.
const (
	dataPoints      = 1
	dataTemporality = 2
	dataMonotonic   = 3
)

// Ids of the fields of data points, whose numbers differ from kind to kind.
const (
	pointAttributes = iota + 1
	pointStart
	pointTime
	pointAsDouble
	pointAsInt
	pointCount
	pointSum
	pointMin
	pointMax
	pointBucketCounts
	pointBounds
	pointScale
	pointZeroCount
	pointZeroThreshold
	pointPositive
	pointNegative
	pointQuantiles
	pointExemplars
	pointFlags
)

// Fields of the messages inside data points.
const (
	bucketsOffset = 1
	bucketsCounts = 2

	quantileQuantile = 1
	quantileValue    = 2

	exemplarTime       = 2
	exemplarAsDouble   = 3
	exemplarSpanID     = 4
	exemplarTraceID    = 5
	exemplarAsInt      = 6
	exemplarAttributes = 7
)

var (
	metricsEnvelope = newEnvelope("resourceMetrics", "scopeMetrics", "metrics")

	metricMessage = newMessage(
		field{num: metricName, wire: lengths, kind: kindText, name: "name"},
		field{num: metricDescription, wire: lengths, kind: kindText, name: "description"},
		field{num: metricUnit, wire: lengths, kind: kindText, name: "unit"},
		field{num: metricGauge, wire: lengths, kind: kindMessage, name: "gauge", of: gaugeMessage},
		field{num: metricSum, wire: lengths, kind: kindMessage, name: "sum", of: sumMessage},
		field{num: metricHistogram, wire: lengths, kind: kindMessage, name: "histogram", of: histogramMessage},
		field{num: metricExponential, wire: lengths, kind: kindMessage, name: "exponentialHistogram", of: exponentialMessage},
		field{num: metricSummary, wire: lengths, kind: kindMessage, name: "summary", of: summaryMessage},
		field{num: metricMetadata, wire: lengths, kind: kindMessage, list: true, name: "metadata"},
	)
	gaugeMessage = newMessage(pointsField(numberPointMessage))
	sumMessage   = newMessage(
		pointsField(numberPointMessage), temporalityField(), field{num: dataMonotonic, wire: varint, kind: kindBool, name: "isMonotonic"},
	)
	histogramMessage   = newMessage(pointsField(histogramPointMessage), temporalityField())
	exponentialMessage = newMessage(pointsField(exponentialPointMessage), temporalityField())
	summaryMessage     = newMessage(pointsField(summaryPointMessage))

	numberPointMessage = newMessage(
		pointAttributesField(7),
		field{num: 2, id: pointStart, wire: fixed64, kind: kindUint64, name: "startTimeUnixNano"},
		field{num: 3, id: pointTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: 4, id: pointAsDouble, wire: fixed64, kind: kindDouble, name: "asDouble"},
		field{num: 6, id: pointAsInt, wire: fixed64, kind: kindInt64, name: "asInt"},
		exemplarsField(5),
		field{num: 8, id: pointFlags, wire: varint, kind: kindUint32, name: "flags"},
	)
	histogramPointMessage = newMessage(
		pointAttributesField(9),
		field{num: 2, id: pointStart, wire: fixed64, kind: kindUint64, name: "startTimeUnixNano"},
		field{num: 3, id: pointTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: 4, id: pointCount, wire: fixed64, kind: kindUint64, name: "count"},
		field{num: 5, id: pointSum, wire: fixed64, kind: kindDouble, name: "sum"},
		field{num: 6, id: pointBucketCounts, wire: fixed64, kind: kindUint64, list: true, name: "bucketCounts"},
		field{num: 7, id: pointBounds, wire: fixed64, kind: kindDouble, list: true, name: "explicitBounds"},
		exemplarsField(8),
		field{num: 10, id: pointFlags, wire: varint, kind: kindUint32, name: "flags"},
		field{num: 11, id: pointMin, wire: fixed64, kind: kindDouble, name: "min"},
		field{num: 12, id: pointMax, wire: fixed64, kind: kindDouble, name: "max"},
	)
	exponentialPointMessage = newMessage(
		pointAttributesField(1),
		field{num: 2, id: pointStart, wire: fixed64, kind: kindUint64, name: "startTimeUnixNano"},
		field{num: 3, id: pointTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: 4, id: pointCount, wire: fixed64, kind: kindUint64, name: "count"},
		field{num: 5, id: pointSum, wire: fixed64, kind: kindDouble, name: "sum"},
		field{num: 6, id: pointScale, wire: varint, kind: kindSint32, name: "scale"},
		field{num: 7, id: pointZeroCount, wire: fixed64, kind: kindUint64, name: "zeroCount"},
		field{num: 8, id: pointPositive, wire: lengths, kind: kindMessage, once: true, name: "positive", of: bucketsMessage},
		field{num: 9, id: pointNegative, wire: lengths, kind: kindMessage, once: true, name: "negative", of: bucketsMessage},
		field{num: 10, id: pointFlags, wire: varint, kind: kindUint32, name: "flags"},
		exemplarsField(11),
		field{num: 12, id: pointMin, wire: fixed64, kind: kindDouble, name: "min"},
		field{num: 13, id: pointMax, wire: fixed64, kind: kindDouble, name: "max"},
		field{num: 14, id: pointZeroThreshold, wire: fixed64, kind: kindDouble, name: "zeroThreshold"},
	)
	summaryPointMessage = newMessage(
		pointAttributesField(7),
		field{num: 2, id: pointStart, wire: fixed64, kind: kindUint64, name: "startTimeUnixNano"},
		field{num: 3, id: pointTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: 4, id: pointCount, wire: fixed64, kind: kindUint64, name: "count"},
		field{num: 5, id: pointSum, wire: fixed64, kind: kindDouble, name: "sum"},
		field{num: 6, id: pointQuantiles, wire: lengths, kind: kindMessage, once: true, list: true, name: "quantileValues", of: quantileMessage},
		field{num: 8, id: pointFlags, wire: varint, kind: kindUint32, name: "flags"},
	)
	bucketsMessage = newMessage(
		field{num: bucketsOffset, wire: varint, kind: kindSint32, name: "offset"},
		field{num: bucketsCounts, wire: varint, kind: kindUint64, list: true, name: "bucketCounts"},
	)
	quantileMessage = newMessage(
		field{num: quantileQuantile, wire: fixed64, kind: kindDouble, name: "quantile"},
		field{num: quantileValue, wire: fixed64, kind: kindDouble, name: "value"},
	)
	exemplarMessage = newMessage(
		field{num: exemplarTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: exemplarAsDouble, wire: fixed64, kind: kindDouble, name: "asDouble"},
		field{num: exemplarAsInt, wire: fixed64, kind: kindInt64, name: "asInt"},
		idField(exemplarTraceID, "traceId", traceIDSize),
		idField(exemplarSpanID, "spanId", spanIDSize),
		field{num: exemplarAttributes, wire: lengths, kind: kindMessage, once: true, list: true, name: "filteredAttributes", of: keyValueMessage},
	)
)

func pointAttributesField(num protowire.Number) field {
	f := attributesField(num)
	f.id = pointAttributes
	return f
}

func exemplarsField(num protowire.Number) field {
	return field{
		num: num, id: pointExemplars, wire: lengths, kind: kindMessage, once: true, list: true, name: "exemplars", of: exemplarMessage,
	}
}

func pointsField(of *message) field {
	return field{num: dataPoints, wire: lengths, kind: kindMessage, list: true, name: "dataPoints", of: of}
}

func temporalityField() field {
	return field{num: dataTemporality, wire: varint, kind: kindEnum, name: "aggregationTemporality", enum: []string{
		"AGGREGATION_TEMPORALITY_UNSPECIFIED", "AGGREGATION_TEMPORALITY_DELTA", "AGGREGATION_TEMPORALITY_CUMULATIVE",
	}}
}
