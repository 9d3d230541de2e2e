package wal

import (
	"errors"
	"syscall"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// Errors of Open, Enqueue, Reserve and Wait that callers branch on with errors.Is.
var (
	// ErrLocked is returned by Open while another process has the directory.
	ErrLocked error = fault.New(fault.Unavailable, "the write-ahead log is in use by another process")
	// ErrFull means that the disk is full. The log accepts again by itself once there is room.
	ErrFull error = fault.New(fault.Unavailable, "the disk of the write-ahead log is full").After(5 * time.Second)
	// ErrBusy means that Options.MaxPendingBytes are waiting to be written.
	ErrBusy error = fault.New(fault.Unavailable, "too many bytes are waiting for the write-ahead log").After(time.Second)
	// ErrWrite means that writing or syncing failed for another reason; the cause is wrapped beside it.
	ErrWrite error = fault.New(fault.Unavailable, "the write-ahead log could not be written").After(time.Second)
	// ErrClosed is returned after Close.
	ErrClosed error = fault.New(fault.Unavailable, "the write-ahead log is closed").After(time.Second)
	// ErrNotReplayed is returned by Enqueue while records of earlier processes are unread.
	ErrNotReplayed error = fault.New(fault.Unavailable, "the write-ahead log has not been replayed").After(time.Second)
	// ErrTooLarge means that a record exceeds Options.MaxPendingBytes.
	ErrTooLarge error = fault.New(fault.TooLarge, "the batch is larger than the write-ahead log takes")
)

// isFull reports whether err says that the file system or a quota has no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// groupError gives the cause of a failed group its sentinel.
func groupError(cause error) error {
	sentinel := ErrWrite
	if isFull(cause) {
		sentinel = ErrFull
	}
	return &failure{sentinel: sentinel, cause: cause}
}

// failure joins a sentinel, whose fault kind and text it has, with the cause.
type failure struct{ sentinel, cause error }

func (f *failure) Error() string   { return f.sentinel.Error() + ": " + f.cause.Error() }
func (f *failure) Unwrap() []error { return []error{f.sentinel, f.cause} }
