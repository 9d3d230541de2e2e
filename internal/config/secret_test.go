package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/config"
)

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	s := config.NewSecret("hunter2")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "inside", struct{ S config.Secret }{s})
	shown, err := json.Marshal(map[string]any{"s": s, "inside": struct{ S config.Secret }{s}})
	require.NoError(t, err)
	for _, text := range []string{
		log.String(), string(shown),
		fmt.Sprint(s), fmt.Sprintf("%s %v %+v %#v %q %x %d", s, s, s, s, s, s, s), fmt.Sprintf("%+v", struct{ S config.Secret }{s}),
	} {
		require.NotContains(t, text, "hunter2")
		require.NotContains(t, text, "68756e74657232")
		require.Contains(t, text, "redacted")
	}
	require.Equal(t, "hunter2", s.Reveal())
	require.True(t, s.IsSet())
	require.False(t, config.Secret{}.IsSet())
}
