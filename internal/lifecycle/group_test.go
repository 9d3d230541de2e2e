package lifecycle_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal notes events in order.
type journal struct {
	mu     sync.Mutex
	events []string
}

func (j *journal) note(e string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) stage(name string) lifecycle.Stage {
	return lifecycle.Stage{
		Name:  name,
		Start: func(context.Context) error { j.note("start " + name); return nil },
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			j.note("ran " + name)
			return nil
		},
		Stop: func(context.Context) error { j.note("stop " + name); return nil },
	}
}

func newGroup() *lifecycle.Group {
	return &lifecycle.Group{DrainTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
}

func TestStagesStopInReverse(t *testing.T) {
	t.Parallel()
	var j journal
	g := newGroup()
	ctx, cancel := context.WithCancel(t.Context())
	g.Add(j.stage("a"))
	g.Add(j.stage("b"))
	g.Add(lifecycle.Stage{Name: "c", Start: func(context.Context) error { cancel(); return nil }})
	require.NoError(t, g.Run(ctx))
	require.Equal(t, []string{"start a", "start b", "ran b", "stop b", "ran a", "stop a"}, j.events)
}

func TestFailureOfAStageStopsAll(t *testing.T) {
	t.Parallel()
	var j journal
	boom := errors.New("boom")
	g := newGroup()
	g.Add(j.stage("a"))
	g.Add(lifecycle.Stage{Name: "b", Run: func(context.Context) error { return boom }})
	err := g.Run(t.Context())
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, "b: boom")
	require.Equal(t, []string{"start a", "ran a", "stop a"}, j.events)
}

func TestFailureOfAStartStopsWhatStarted(t *testing.T) {
	t.Parallel()
	var j journal
	boom := errors.New("boom")
	g := newGroup()
	g.Add(j.stage("a"))
	g.Add(lifecycle.Stage{
		Name:  "b",
		Start: func(context.Context) error { return boom },
		Stop:  func(context.Context) error { j.note("stop b"); return nil },
	})
	g.Add(j.stage("c"))
	require.ErrorIs(t, g.Run(t.Context()), boom)
	require.Equal(t, []string{"start a", "stop b", "ran a", "stop a"}, j.events)
}

func TestStageThatEndsByItselfIsAFailure(t *testing.T) {
	t.Parallel()
	g := newGroup()
	g.Add(lifecycle.Stage{Name: "a", Run: func(context.Context) error { return nil }})
	require.ErrorContains(t, g.Run(t.Context()), "a: ended by itself")
}

func TestStuckStageIsNamed(t *testing.T) {
	t.Parallel()
	g := newGroup()
	g.DrainTimeout = time.Millisecond
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	g.Add(lifecycle.Stage{Name: "stuck", Run: func(context.Context) error { <-release; return nil }})
	g.Add(lifecycle.Stage{Name: "last", Start: func(context.Context) error { cancel(); return nil }})
	require.ErrorContains(t, g.Run(ctx), "stop stuck")
}
