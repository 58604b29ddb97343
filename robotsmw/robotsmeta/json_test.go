package robotsmeta

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestDirectives_StoredAndReadAgain(t *testing.T) {
	for name, d := range map[string]Directives{
		"nothing":           {},
		"noindex":           ParseContent("noindex"),
		"all at once":       ParseContent("none, noarchive, nosnippet, noimageindex, notranslate, indexifembedded, noai, noimageai, noml"),
		"limits":            ParseContent("max-snippet:20, max-video-preview:-1, max-image-preview:standard"),
		"a date":            ParseContent("unavailable_after: 2030-01-02T03:04:05Z"),
		"an unknown word":   ParseContent("nofllow"),
		"cut short":         ParseContent("noindex," + strings.Repeat("x", 9<<10)),
		"more than 256":     ParseContent(strings.Repeat("index,", 300) + "noindex"),
		"a header's scopes": ParseHeader(http.Header{"X-Robots-Tag": {"bot: nofollow, max-snippet: 0"}}, "bot"),
	} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var read Directives
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.rules) == 0 {
			d.rules = nil
		}
		if !reflect.DeepEqual(read, d) {
			t.Errorf("%s: read again from %s:\n%+v\nwant\n%+v", name, text, read, d)
		}
	}
}

func TestDirectives_StoredByAnotherVersion(t *testing.T) {
	for name, text := range map[string]string{
		"cut short":        `{"says":"noin`,
		"a new directive":  `{"says":"nothinking"}`,
		"one with a value": `{"says":"max-snippet"}`,
		"a new preview":    `{"says":"max-image-preview: huge"}`,
		"another form":     `{"says":["noindex"]}`,
	} {
		d := ParseContent("nofollow")
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s: %s was read without an error", name, text)
		}
		if !d.NoFollow() {
			t.Errorf("%s: a failed UnmarshalJSON changed the Directives", name)
		}
	}
}
