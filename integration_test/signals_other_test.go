//go:build !unix

package integration

import (
	"errors"
	"syscall"
	"time"
)

// No process can be told to stand still here: sending these is an error, which
// fails the test. Where there is no Redis either, it was skipped before.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)

// processorTime is not known here.
func processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
