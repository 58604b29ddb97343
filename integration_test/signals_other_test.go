//go:build !unix

package integration

import (
	"errors"
	"syscall"
	"time"
)

// On this system no process can be told to stand still. Sending these signals
// is an error, which fails the test. If there is no Redis either, the test has
// been skipped before.
const sigstop, sigcont = syscall.Signal(-1), syscall.Signal(-2)

// processorTime returns an error: on this system it is not known.
func processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
