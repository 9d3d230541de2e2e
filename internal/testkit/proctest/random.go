package proctest

import (
	"crypto/rand"
	"fmt"
	"math/big"
)

// randomPort draws from the system's source, so that test binaries that run side by side do not try the same ports in step.
func randomPort(lowest, highest int) (int, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(highest-lowest)))
	if err != nil {
		return 0, fmt.Errorf("draw a port: %w", err)
	}
	return lowest + int(n.Int64()), nil
}

// Secret returns a new random text of 26 letters and digits, fit for a password or an access key.
func Secret() string { return rand.Text() }
