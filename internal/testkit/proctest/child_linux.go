package proctest

import "syscall"

// childAttr puts the child into a process group of its own (a Ctrl-C on the terminal reaches the test, which then stops the child
// in order) and lets the kernel end it when the parent dies.
func childAttr(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
