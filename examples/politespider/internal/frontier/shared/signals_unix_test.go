//go:build unix

package shared

import "syscall"

// sigstop suspends a process, and sigcont resumes it.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT
