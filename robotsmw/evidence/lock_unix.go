//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"os"
	"syscall"
)

// lock reserves a file for this process until the file is closed or the process
// ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
