package record

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A server redirects each page to a URL of a megabyte. The summary contains
// only the beginning of the URL.
func TestBrief_LongTexts(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	brief := Record{
		URL:      "http://a.example/",
		Location: "http://b.example/x" + long,
		Error:    "parse " + long,
	}.Brief()
	for name, text := range map[string]string{"Location": brief.Location, "Error": brief.Error} {
		if len(text) > 3<<10 {
			t.Errorf("%s has %d bytes, want at most %d", name, len(text), 3<<10)
		}
		if !utf8.ValidString(text) || !strings.HasSuffix(text, "é…") {
			t.Errorf("%s ends with %q, want a whole character and …", name, text[max(len(text)-10, 0):])
		}
	}
}

func TestBrief_ShortTexts(t *testing.T) {
	brief := Record{Location: "http://b.example/", Error: "timeout"}.Brief()
	if brief.Location != "http://b.example/" || brief.Error != "timeout" {
		t.Errorf("Location %q and Error %q, want %q and %q", brief.Location, brief.Error, "http://b.example/", "timeout")
	}
}
