package command

import (
	"strings"
	"testing"
)

func TestGuessURL(t *testing.T) {
	for s, want := range map[string]string{
		"htp://a.example/":     "http://a.example/",
		"htps://a.example/":    "https://a.example/",
		"htttps://a.example/":  "https://a.example/",
		"httsp://a.example/":   "https://a.example/",
		"https:/a.example/":    "https://a.example/",
		"https:a.example/":     "https://a.example/",
		"http//a.example/x":    "http://a.example/x",
		"HTTPS;//a.example":    "https://a.example",
		"ftp://a.example/":     "",
		"file:///robots.txt":   "",
		"robots.txt":           "",
		"http":                 "",
		"https/robots.txt":     "",
		"site/robots.txt":      "",
		"a.example/robots.txt": "",
		"C:robots.txt":         "",
	} {
		if got := GuessURL(s); got != want {
			t.Errorf("GuessURL(%q) is %q, want %q", s, got, want)
		}
	}
}

func TestGuessSiteURL(t *testing.T) {
	for s, want := range map[string]string{
		"example.com":         "https://example.com",
		"www.example.co.uk/a": "https://www.example.co.uk/a",
		"example.com:8080/a":  "http://example.com:8080/a",
		"example.com:443":     "https://example.com:443",
		"localhost:8080/a":    "http://localhost:8080/a",
		"127.0.0.1/a":         "http://127.0.0.1/a",
		"[::1]:8080/a":        "http://[::1]:8080/a",
		"a:b":                 "",
		"robots.txt":          "",
		"site/example.com":    "",
		"page.html":           "",
		"com":                 "",
		"./example.com":       "",
		"":                    "",
	} {
		if got := guessSiteURL(s); got != want {
			t.Errorf("guessSiteURL(%q) is %q, want %q", s, got, want)
		}
	}
}

func TestCheckScheme(t *testing.T) {
	for _, target := range []string{
		"/private/", "/http:/a", "?q", "http://a.example/", "HTTPS://a.example/",
		"ftp://a.example/", "http", "", "bob/a/home.html", "Fish.PHP",
	} {
		if err := CheckScheme(target); err != nil {
			t.Errorf("CheckScheme(%q) returned the error %v, want none", target, err)
		}
	}
	const want = "did you mean http"
	for _, target := range []string{
		"htps://a.example/", "http:/a.example", "https//a.example", "hhtp://a.example",
		"example.com/private", "127.0.0.1:80/private",
	} {
		if err := CheckScheme(target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckScheme(%q) returned the error %v, want it to contain %q", target, err, want)
		}
	}
}

func TestParseURL_Scheme(t *testing.T) {
	for s, want := range map[string]string{
		"htps://a.example/":   `unknown scheme "htps"; did you mean https://a.example/?`,
		"gopher://a.example/": "must be an http or https URL",
		"https://":            "a host",
	} {
		if _, err := ParseURL(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseURL(%q) returned the error %v, want it to contain %q", s, err, want)
		}
	}
}
