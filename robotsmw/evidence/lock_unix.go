//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"errors"
	"os"
	"syscall"
)

// lock reserves a file for this process until unlock is called or the process
// ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// unlock frees the file and closes it. Without LOCK_UN, the lock would last
// until all copies of the descriptor are closed, and a child process that is
// just being started has a copy until it runs its program.
func unlock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return errors.Join(err, f.Close())
}
