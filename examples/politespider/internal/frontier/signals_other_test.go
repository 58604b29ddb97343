//go:build !unix

package frontier

import "syscall"

// This system has no signals that stop a process and let it go on, so sending
// these is an error. If there is no Redis either, the test is skipped before it
// sends them.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
