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
			t.Errorf("normalize(%q): error %v", raw, err)
		} else if u.String() != want {
			t.Errorf("normalize(%q) = %s, want %s", raw, u, want)
		}
	}
	for _, raw := range []string{
		"",
		"a.example",
		"//a.example/",
		"http://",
		"ftp://a.example/",
		"mailto:a@a.example",
		"http://a b/",
	} {
		if u, err := normalize(raw); err == nil {
			t.Errorf("normalize(%q) = %s, want an error", raw, u)
		}
	}
}

// If a URL is incomplete, like the text that people type into a browser, the
// error contains the complete URL.
func TestNormalize_Incomplete(t *testing.T) {
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
		suffix := "; use a complete URL such as " + want
		if _, err := normalize(raw); err == nil || !strings.HasSuffix(err.Error(), suffix) {
			t.Errorf("normalize(%q): error %v, want one that ends with %q", raw, err, suffix)
		}
	}
}

// The error on a complete but invalid URL contains the reason.
func TestNormalize_Invalid(t *testing.T) {
	_, err := normalize("http://a b/")
	if want := "invalid character"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("normalize of a URL with a space: error %v, want one that contains %q", err, want)
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
