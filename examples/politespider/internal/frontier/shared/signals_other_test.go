//go:build !unix

package shared

import "syscall"

// Only Unix systems have SIGSTOP and SIGCONT. On other systems, these two
// constants are invalid signals, so a test that sends one fails. Without Redis,
// that test is skipped before it sends a signal.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
