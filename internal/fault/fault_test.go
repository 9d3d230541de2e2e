package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
)

func TestKindSurvivesWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk is gone")
	err := fmt.Errorf("write rows: %w", fault.Wrap(fault.Unavailable, cause, "the disk is full").After(5*time.Second))
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.ErrorIs(t, err, cause)
	require.Equal(t, "the disk is full", fault.Message(err), "a client does not see the cause")
	require.Equal(t, 5*time.Second, fault.RetryAfter(err))
	require.Equal(t, 503, fault.StatusOf(err).HTTP)
	require.Contains(t, err.Error(), "disk is gone", "the log does")
}

func TestErrorsWithoutAKind(t *testing.T) {
	t.Parallel()
	require.Equal(t, fault.Internal, fault.KindOf(errors.New("secret path /var/x")))
	require.NotContains(t, fault.Message(errors.New("secret path /var/x")), "secret")
	require.NotContains(t, fault.Message(fault.New(fault.Corrupt, "segment /var/x")), "/var/x")
	require.Equal(t, fault.Canceled, fault.KindOf(fmt.Errorf("read: %w", context.Canceled)))
	require.Equal(t, 504, fault.StatusOf(context.DeadlineExceeded).HTTP)
	require.False(t, fault.Is(nil, fault.Internal))
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, fault.RetryAfter(fault.New(fault.Limited, "slow down")))
	require.Equal(t, time.Second, fault.RetryAfter(fault.New(fault.Limited, "slow down").After(time.Millisecond)), "whole seconds")
	require.Zero(t, fault.RetryAfter(fault.New(fault.Invalid, "no")))
}
