//go:build unix

package diskstore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The directory is a symbolic link to another disk, as caches often are. A
// sweep follows the link, so that MaxBytes and the expiry apply. The sweep that
// the first Put has started may still be running.
func TestSweep_OfADirectoryThatIsALink(t *testing.T) {
	parent := t.TempDir()
	target, link := filepath.Join(parent, "target"), filepath.Join(parent, "link")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		ttl := time.Hour
		if i%2 == 0 {
			ttl = time.Nanosecond
		}
		if err := s.Put(t.Context(), fmt.Sprint(i), make([]byte, 1000), ttl); err != nil {
			t.Fatal(err)
		}
	}
	other, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	other.MaxBytes = 5000
	other.sweep(false)
	if n := count(target, valueSuffix); n != 4 {
		t.Errorf("%d values are left, want 4", n)
	}
}
