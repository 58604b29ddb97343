//go:build unix

package frontier

import "syscall"

// sigstop suspends a process, and sigcont resumes it.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT
