package overrides

import (
	"errors"
	"os"
	"syscall"
)

// lease keeps others from opening a file for writing until release is called; who tries waits for it. Without a release somebody has the
// file open for writing, busy, or the kernel gives no leases: they are for the file's owner, on a local file system.
//
// The kernel tells a holder of somebody who waits by SIGIO, which the Go runtime takes and drops.
func lease(file *os.File) (release func(), busy bool) {
	set := func(kind int) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), syscall.F_SETLEASE, uintptr(kind))
		return errno
	}
	if errno := set(syscall.F_RDLCK); errno != 0 {
		return nil, errors.Is(errno, syscall.EAGAIN)
	}
	return func() { _ = set(syscall.F_UNLCK) }, false // closing the file would end it too
}
