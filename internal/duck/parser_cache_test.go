package duck

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	m := newAnswers()
	long := strings.Repeat("x", maxRememberedText/2)
	for i := range 1000 {
		q := question{"f", long + strings.Repeat("y", i)}
		m.remember(q, "answer")
		require.LessOrEqual(t, m.mu.bytes, maxRemembered)
		got, ok := m.answer(q)
		require.True(t, ok)
		require.Equal(t, "answer", got)
		_, ok = m.answer(question{"f", long}) // used again and again, it stays
		require.True(t, ok)
	}
	_, ok := m.answer(question{"f", long + "y"})
	require.False(t, ok)
	_, ok = m.answer(question{"g", long})
	require.False(t, ok)
	m.remember(question{"f", strings.Repeat("z", maxRememberedText)}, "answer")
	_, ok = m.answer(question{"f", strings.Repeat("z", maxRememberedText)})
	require.False(t, ok)
}
