//go:build !unix

package frontier

import "syscall"

// This system has neither SIGSTOP nor SIGCONT. These two constants are invalid
// signals, and to send them is an error. If the machine has no Redis, the test
// is skipped before it sends them.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
