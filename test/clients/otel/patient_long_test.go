//go:build long

package otel_test

import "time"

// refusedFor is as long as a Collector on its own settings tries. What is to survive that needs the one setting that docs name.
const (
	refusedFor  = 5 * time.Minute
	giveUpAfter = "0s"
)
