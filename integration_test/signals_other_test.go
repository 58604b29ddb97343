//go:build !unix

package integration

import (
	"errors"
	"syscall"
	"time"
)

// This system has no signals that stop a process and let it continue. Sending
// one of these constants is an error.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)

// processorTime returns an error, because this system does not report how much
// processor time was used.
func processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
