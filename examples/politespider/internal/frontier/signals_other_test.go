//go:build !unix

package frontier

import "syscall"

// No process can be told to stand still here: sending these is an error. Where
// there is no Redis either, the test is skipped before.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)
