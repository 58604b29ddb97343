//go:build !unix

package frontier

import "syscall"

// On this system no process can be told to stand still: sending these signals
// is an error. If there is no Redis either, the test has been skipped before.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
