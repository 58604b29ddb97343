package tool

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"
)

// normalize parses a URL into the form in which colly will send it.
func normalize(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		meant := strings.TrimLeft(rawURL, "/")
		if meant == "" || strings.Contains(meant, "://") { // a scheme is not what it lacks
			meant = "example.com/"
		}
		return nil, fmt.Errorf("%q is not an http or https URL: write it in full, as in http://%s", rawURL, meant)
	}
	absolute := (&colly.Request{URL: u}).AbsoluteURL(rawURL)
	if absolute == "" {
		return nil, fmt.Errorf("%q is not a URL", rawURL)
	}
	return withoutFragment(absolute)
}

func withoutFragment(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
