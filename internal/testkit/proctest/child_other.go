//go:build unix && !linux

package proctest

import "syscall"

// childAttr puts the child into a process group of its own. Without Linux's parent-death signal a child outlives a parent that was
// killed.
func childAttr(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setpgid: true}
}
