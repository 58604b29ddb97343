package record

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A server redirects each page to a URL of a megabyte. The summary has the
// beginning of the URL.
func TestBrief_LongTexts(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	r := Record{URL: "http://a.example/", Location: "http://b.example/x" + long, Error: "parse " + long}.Brief()
	for _, text := range []string{r.Location, r.Error} {
		if len(text) > 3<<10 || !utf8.ValidString(text) || !strings.HasSuffix(text, "é…") {
			t.Errorf("%d bytes: %q", len(text), text[len(text)-10:])
		}
	}
	if r := (Record{Location: "http://b.example/", Error: "timeout"}).Brief(); r.Location != "http://b.example/" || r.Error != "timeout" {
		t.Errorf("%+v", r)
	}
}
