package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// shop stores n numbered rows of a believable size, a few hundred bytes each, over the last ten minutes.
func (s store) shop(t *testing.T, stream string, n int) {
	t.Helper()
	const batch = 20_000
	now := time.Now().Add(-10 * time.Minute)
	pad := strings.Repeat("the customer looked at the shelf and went on ", 4)
	for from := 0; from < n; from += batch {
		var body strings.Builder
		for i := from; i < min(from+batch, n); i++ {
			at := now.Add(time.Duration(i) * 10 * time.Minute / time.Duration(n))
			fmt.Fprintf(&body, `{"_timestamp":%d,"i":%d,"request_id":"req-%08x-%d","message":"%d %s","status":%d}`+"\n",
				at.UnixNano(), i, i*2654435761%(1<<32), i, i, pad, 200+i%5)
		}
		status, r := s.logs(t, stream, body.String())
		require.Equal(t, http.StatusOK, status, "%+v", r)
		require.Zero(t, r.Rejected)
	}
}

// memorySum returns the most memory that the program promises to use with the server's settings.
func (s store) memorySum(t *testing.T) int64 {
	t.Helper()
	program, err := mstest.Program()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "config", "print")
	cmd.Env = append(os.Environ(), s.settings...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	m := regexp.MustCompile(`(?m)^# memory: .* = (\d+) MiB of`).FindStringSubmatch(string(out))
	require.NotNil(t, m, "%s", out)
	size, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(t, err)
	return size * mib
}
