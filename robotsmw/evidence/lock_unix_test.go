//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"syscall"
	"testing"
)

// A program starts a child process while it closes its record, and opens the
// record again before the child runs its program. Until then, the child has a
// copy of the lock's descriptor.
func TestLock_CopiedDescriptor(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(first.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}
