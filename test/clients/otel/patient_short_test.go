//go:build !long

package otel_test

import "time"

// refusedFor is how long a server refuses a Collector on its own settings; the long form comes near the five minutes after which such a
// Collector gives up.
const refusedFor = 8 * time.Second
