//go:build unix

package integration

import (
	"syscall"
	"time"
)

// The signals that make a process stand still and go on.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT

// processorTime returns how much of the processor this process has used.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
