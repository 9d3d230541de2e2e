//go:build long

package otel_test

import "time"

// refusedFor is just below the five minutes after which a Collector on its own settings gives a batch up: tries are up to 37 s apart, and
// the last one must lie before.
const refusedFor = 280 * time.Second
