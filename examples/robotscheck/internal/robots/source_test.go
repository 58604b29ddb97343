package robots

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func TestDoubt(t *testing.T) {
	rules := "User-agent: *\nDisallow: /a\n"
	for _, tt := range []struct{ name, text, want string }{
		{"text", rules, ""},
		{"an empty file", "", ""},
		{"the maximum length", rules + "#" + strings.Repeat("x", robotstxt.MaxSize-len(rules)-2) + "\n", ""},
		{"more than the maximum length", rules + "#" + strings.Repeat("x", robotstxt.MaxSize), "of which only 27 are parsed"},
		{"an icon", "\x00\x00\x01\x00\x02\x00\x10\x10\x00\x00", "not text"},
		{"UTF-16", "\xff\xfeU\x00s\x00e\x00r\x00", "UTF-16"},
		{"a page", "<!DOCTYPE html>\n<title>Welcome</title>", "HTML page"},
		{"an error page", "\ufeff\n<html><title>404 Not Found</title>", "HTML error page"},
		{"a pattern", "User-agent: *\nDisallow: /<id>\n", ""},
		{"a comment in Latin-1", "# caf\xe9\n" + rules, ""},
	} {
		got := Doubt([]byte(tt.text), false)
		if tt.want == "" && got != "" {
			t.Errorf("%s: Doubt returned %q, want none", tt.name, got)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: Doubt returned %q, want it to contain %q", tt.name, got, tt.want)
		}
	}
}

func TestDoubt_Fetched(t *testing.T) {
	text := "User-agent: *\nDisallow: /a\n#" + strings.Repeat("x", robotstxt.MaxSize)
	const want = "at least 512028 bytes, of which only 27 are parsed"
	if got := Doubt([]byte(text), true); !strings.Contains(got, want) {
		t.Errorf("Doubt of a fetched file returned %q, want it to contain %q", got, want)
	}
}

func TestDoubtOfPage(t *testing.T) {
	long := strings.Repeat("text ", 1000)
	for _, tt := range []struct{ name, text, want string }{
		{"an empty page", "", ""},
		{"HTML", "<!DOCTYPE html><title>Welcome</title>" + long, ""},
		{"a part of a page", "\n <p>Welcome</p>", ""},
		{"plain text", long, ""},
		{"text in Latin-1", "caf\xe9", ""},
		{"text in UTF-16", "\xff\xfe<\x00p\x00>\x00", ""},
		{"text in UTF-16 without a mark", "<\x00t\x00i\x00t\x00l\x00e\x00>\x00", ""},
		{"HTML with an odd byte at its end", "<title>\x01</title>", ""},
		{"an icon", "\x00\x00\x01\x00\x02\x00\x10\x10\x00\x00", "the page is not text but image/x-icon"},
		{"a picture", "\x89PNG\x0d\x0a\x1a\x0a" + long, "the page is not text but image/png"},
		{"a compressed page", "\x1f\x8b\x08" + long, "the page is not text but application/x-gzip"},
		{"a document", "%PDF-1.7\n" + long, "the page is not text but application/pdf"},
		{"a program", "\x7fELF\x02\x01\x01\x00" + long, "the page is not text"},
	} {
		if got := DoubtOfPage([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: DoubtOfPage returned %q, want %q", tt.name, got, tt.want)
		}
	}
}
