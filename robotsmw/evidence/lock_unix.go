//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock reserves the directory for this process until the returned file is
// closed or the process ends.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("evidence: cannot lock the record: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("evidence: another process writes the record in %s; give each its own directory: %w", dir, err)
	}
	return f, nil
}
