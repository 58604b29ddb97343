package tool

import (
	"net/url"
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

func mustNormalize(t *testing.T, rawURL string) *url.URL {
	t.Helper()
	u, err := normalize(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
