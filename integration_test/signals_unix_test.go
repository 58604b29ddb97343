//go:build unix

package integration

import (
	"syscall"
	"time"
)

// What a process is told to stand still and to go on.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT

// processorTime returns how much of the processor this process has used.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
