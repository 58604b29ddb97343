//go:build unix

package frontier

import "syscall"

// What a process is told to stand still and to go on.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT
