package keep

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// If the history cannot be read, the error says what could not be read.
func TestHistory_PastFails(t *testing.T) {
	h, err := openHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.file.Close()
	err = h.Past(func(time.Time, record.Record, *record.Rule) {})
	if !errors.Is(err, os.ErrClosed) || !strings.HasPrefix(err.Error(), "read the history of the crawl: ") {
		t.Errorf("error %v", err)
	}
}
