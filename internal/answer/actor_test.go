package answer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
)

func TestParseActorPath(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][]string{
		"": nil, "|": nil, "a": {"a"}, "users|joe": {"users", "joe"}, "a||b|": {"a", "b"}, "a|b|c|d|e": {"a", "b", "c"}, " a | b ": {"a", "b"},
		strings.Repeat("x", 100): {strings.Repeat("x", 64)},
	} {
		require.Equal(t, want, answer.ParseActorPath(http.Header{answer.ActorPathHeader: {header}}), header)
	}
}
