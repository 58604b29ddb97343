//go:build unix

package frontier

import "syscall"

// sigstop makes a process stand still, and sigcont makes it go on.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT
