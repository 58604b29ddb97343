package tool

import (
	"net/url"
	"strings"
	"testing"
)

func TestNormalize(t *testing.T) {
	for raw, want := range map[string]string{
		"http://A.example":               "http://a.example/",
		"http://a.example/b?c=d#e":       "http://a.example/b?c=d",
		"https://a.example:443/x":        "https://a.example/x",
		"http://a.example/../b/./c":      "http://a.example/b/c",
		"http://bücher.example/ tuesday": "http://xn--bcher-kva.example/%20tuesday",
	} {
		u, err := normalize(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%s: got %s, want %s", raw, u, want)
		}
	}
	for _, raw := range []string{"", "a.example", "//a.example/", "http://", "ftp://a.example/", "mailto:a@a.example", "http://a b/"} {
		if u, err := normalize(raw); err == nil {
			t.Errorf("%q: got %s, want an error", raw, u)
		}
	}
}

// If a URL is incomplete, like the text that people type into a browser, the
// error says how to write the URL in full.
func TestNormalize_InFull(t *testing.T) {
	for raw, want := range map[string]string{
		"a.example":          "http://a.example",
		"//a.example/b":      "http://a.example/b",
		"localhost:8080":     "http://localhost:8080",
		"127.0.0.1:8080/b":   "http://127.0.0.1:8080/b",
		"[::1]:8080":         "http://[::1]:8080",
		"http:/a.example":    "http://a.example",
		"https//a.example/b": "https://a.example/b",
		"https:///a.example": "https://a.example",
		"http://":            "http://example.com/",
		"ftp://a.example/":   "http://example.com/",
		"":                   "http://example.com/",
		"http.example/a//b":  "http://http.example/a//b",
	} {
		if _, err := normalize(raw); err == nil || !strings.HasSuffix(err.Error(), "; use a complete URL such as "+want) {
			t.Errorf("%q: %v, want %s", raw, err, want)
		}
	}
	if _, err := normalize("http://a b/"); err == nil || !strings.Contains(err.Error(), "invalid character") {
		t.Errorf("a URL with a space: %v", err)
	}
}

func mustNormalize(t *testing.T, rawURL string) *url.URL {
	t.Helper()
	u, err := normalize(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
