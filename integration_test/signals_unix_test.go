//go:build unix

package integration

import (
	"syscall"
	"time"
)

// These signals stop a process and let it continue.
const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT

func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
