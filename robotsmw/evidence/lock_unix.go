//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file for this process until unlock is called or the process
// ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// unlock unlocks and closes the file. Closing alone would not be enough: the
// lock lasts until all copies of the descriptor are closed, and a child process
// that is being started has a copy until it executes its program.
func unlock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return errors.Join(err, f.Close())
}
