//go:build !unix

package frontier

import "syscall"

// This system has neither SIGSTOP nor SIGCONT. These two constants are invalid
// signals, and a test that sends one fails. Without Redis, that test is skipped
// before it sends a signal.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
