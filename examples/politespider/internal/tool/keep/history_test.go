package keep

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// If the history cannot be read, the error names what could not be read.
func TestHistory_PastFails(t *testing.T) {
	h, err := openHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.file.Close()
	err = h.Past(func(time.Time, record.Record, *record.Rule) {})
	if !errors.Is(err, os.ErrClosed) {
		t.Fatalf("Past with a closed file: error %v, want %v", err, os.ErrClosed)
	}
	if want := "read the history of the crawl: "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %q, want it to begin with %q", err, want)
	}
}
