package robots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// If the argument is a directory, the error names a file in it.
func TestRead_Directory(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ file, want string }{
		{"notes", "is a directory without .txt files; specify a file"},
		{"robots.txt", "is a directory; specify files in it, such as " + filepath.Join(dir, "robots.txt")},
	} {
		if err := os.WriteFile(filepath.Join(dir, tt.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(t.Context(), command.Env{}, dir, "")
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("Read of a directory with a file %s returned the error %v, want one that ends with %q", tt.file, err, tt.want)
		}
	}
}
