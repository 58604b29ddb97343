package evidence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// The segments of a record were moved to an archive, but a WARC file was not.
// Alternatively, the process was killed while it removed the files of a segment
// because the disk was full. The next session begins with a larger number than
// that of the WARC file.
func TestOpen_AfterAWARCFileWasLeftBehind(t *testing.T) {
	for _, name := range []string{chain.WARCName(1), chain.WARCName(3)} {
		dir := t.TempDir()
		for range 2 {
			r, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 2 {
			os.Remove(filepath.Join(dir, chain.LinesName(n+1)))
			os.Remove(filepath.Join(dir, chain.WARCName(n+1)))
		}
		left := filepath.Join(dir, name)
		if err := os.WriteFile(left, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r, err := Open(dir, Options{})
			if err != nil {
				t.Fatalf("Open in a directory with a left-over %s returns the error %v, want none", name, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if text, err := os.ReadFile(left); string(text) != "left" {
			t.Errorf("%s has changed: %d bytes (error %v), want %q", name, len(text), err, "left")
		}
	}
}
