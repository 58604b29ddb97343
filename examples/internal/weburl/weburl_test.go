package weburl

import (
	"net/url"
	"testing"
)

func TestIsAbsolute(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://a.example":    true,
		"HTTPS://a.example/b": true,
		"http:///b":           false,
		"http:a.example":      false,
		"ftp://a.example/":    false,
		"//a.example/":        false,
		"/b":                  false,
		"":                    false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsAbsolute(u); got != want {
			t.Errorf("IsAbsolute(%q) is %t, want %t", raw, got, want)
		}
	}
}
