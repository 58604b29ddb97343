//go:build unix

package frontier

import "syscall"

// The signals that make a process stand still and go on.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT
