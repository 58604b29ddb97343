//go:build !unix

package frontier

import "syscall"

// These invalid signals stand for SIGSTOP and SIGCONT, which this system lacks.
// A test that would send them first skips itself, because such a system has no
// Redis.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
