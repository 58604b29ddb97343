//go:build !unix

package frontier

import "syscall"

// This system has no SIGSTOP and SIGCONT, and sending these invalid signals is
// an error. Without Redis, the test is skipped before it sends them.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
