package doubt

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func TestOf(t *testing.T) {
	rules := "User-agent: *\nDisallow: /a\n"
	for _, tt := range []struct{ name, text, want string }{
		{"text", rules, ""},
		{"nothing", "", ""},
		{"as long as may be", rules + "#" + strings.Repeat("x", robotstxt.MaxSize-len(rules)-2) + "\n", ""},
		{"longer", rules + "#" + strings.Repeat("x", robotstxt.MaxSize), "of which 27 count"},
		{"an icon", "\x00\x00\x01\x00\x02\x00\x10\x10\x00\x00", "not text"},
		{"UTF-16", "\xff\xfeU\x00s\x00e\x00r\x00", "UTF-16"},
		{"a page", "<!DOCTYPE html>\n<title>Welcome</title>", "HTML page"},
		{"an error page", "\ufeff\n<html><title>404 Not Found</title>", "HTML error page"},
		{"a pattern", "User-agent: *\nDisallow: /<id>\n", ""},
		{"a comment in Latin-1", "# caf\xe9\n" + rules, ""},
	} {
		if got := Of([]byte(tt.text)); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOfFetched(t *testing.T) {
	text := "User-agent: *\nDisallow: /a\n#" + strings.Repeat("x", robotstxt.MaxSize)
	if got := OfFetched([]byte(text)); !strings.Contains(got, "at least 512028 bytes, of which 27 count") {
		t.Error(got)
	}
}
