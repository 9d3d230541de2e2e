//go:build long

package e2e_test

import "testing"

// TestSelectStarOfMillions is TestSelectStarStreams with three million rows, about a gigabyte.
func TestSelectStarOfMillions(t *testing.T) { testStreaming(t, 3_000_000) }
