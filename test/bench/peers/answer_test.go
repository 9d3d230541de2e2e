package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswersOfBothServersCompare(t *testing.T) {
	t.Parallel()
	fields := []string{"_timestamp", "message", "n"}
	ours, err := readAnswer(&product{}, []byte(`{"_timestamp":"2026-11-01T00:01:00Z","message":"b","n":2}
{"_timestamp":"2026-11-01T00:00:00.5Z","message":"a","n":1.50}
{"_meta":{"stats":{}}}
`), fields)
	require.NoError(t, err)
	theirs, err := readAnswer(&victoriaLogs{}, []byte(`{"_time":"2026-11-01T00:00:00.500000Z","_msg":"a","n":"1.5000000000000002"}

{"_time":"2026-11-01T00:01:00Z","_msg":"b","n":"2","_stream":"{}"}
`), fields)
	require.NoError(t, err)
	require.Empty(t, difference(ours, theirs))
	require.Contains(t, difference(ours, theirs[:1]), "2 rows against 1")
	require.Contains(t, difference(nil, theirs), "0 rows against 2")
	theirs[0][2] = "3"
	require.Contains(t, difference(ours, theirs), "the first that differs is")
}

func TestAnAnswerThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	_, err := readAnswer(&product{}, []byte("oops\n"), []string{"n"})
	require.Error(t, err)
}

func TestSettingsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	cfg, err := parse([]string{"--rounds=7", "--questions=word", "--only=product"}, "5000", t.Output())
	require.NoError(t, err)
	require.Equal(t, 5000, cfg.rows)
	require.Equal(t, 7, cfg.rounds)
	require.True(t, cfg.questions.MatchString("rare word, count"))
	require.Equal(t, "product", cfg.only)

	cfg, err = parse([]string{"--quick"}, "", t.Output())
	require.NoError(t, err)
	require.Equal(t, quickRows, cfg.rows)

	for _, c := range []struct{ arg, rows string }{{"--rounds=0", ""}, {"--questions=(", ""}, {"--rounds=5", "many"}} {
		_, err := parse([]string{c.arg}, c.rows, t.Output())
		require.Error(t, err)
	}
}
