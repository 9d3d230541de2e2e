//go:build !long

package otel_test

import "time"

// refusedFor is how long a server refuses, and giveUpAfter a Collector's own default of the time after which it drops a batch.
const (
	refusedFor  = 8 * time.Second
	giveUpAfter = "300s"
)
