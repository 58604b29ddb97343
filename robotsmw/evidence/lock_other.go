//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package evidence

import (
	"fmt"
	"os"
	"path/filepath"
)

// lock opens the lock file without locking it, because this operating system
// may have no flock. So a second process can write too.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("evidence: cannot lock the record: %w", err)
	}
	return f, nil
}
