package duck

import (
	"container/list"
	"sync"
)

// Bounds of what a Parser remembers.
const (
	maxRemembered     = 16 << 20 // bytes of texts and trees
	maxRememberedText = 256 << 10
)

// answers remembers answers of the parser, those that were used last: the same statements come again and again, and what the engine makes
// of a text depends on the text alone. It is safe for concurrent use.
type answers struct {
	mu struct {
		sync.Mutex
		bytes  int
		byText map[question]*list.Element
		used   *list.List // of remembered, the last used first
	}
}

// question is one text for one of the parser's functions.
type question struct{ function, text string }

type remembered struct {
	question
	answer string
}

func newAnswers() *answers {
	m := &answers{}
	m.mu.byText, m.mu.used = make(map[question]*list.Element), list.New()
	return m
}

func (m *answers) answer(q question) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.mu.byText[q]
	if !ok {
		return "", false
	}
	m.mu.used.MoveToFront(e)
	return e.Value.(*remembered).answer, true //nolint:forcetypeassert // nothing else is put in
}

func (m *answers) remember(q question, answer string) {
	if len(q.text)+len(answer) > maxRememberedText {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.mu.byText[q]; ok {
		return
	}
	m.mu.byText[q] = m.mu.used.PushFront(&remembered{q, answer})
	m.mu.bytes += len(q.text) + len(answer)
	for m.mu.bytes > maxRemembered {
		last := m.mu.used.Remove(m.mu.used.Back()).(*remembered) //nolint:forcetypeassert // nothing else is put in
		delete(m.mu.byText, last.question)
		m.mu.bytes -= len(last.text) + len(last.answer)
	}
}
