package tool

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/internal/weburl"
)

// normalize parses a URL into the form in which colly will send it, without a
// fragment.
func normalize(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil && strings.Contains(rawURL, "://") {
		return nil, err
	}
	if err != nil || !weburl.IsAbsolute(u) {
		return nil, fmt.Errorf("%q is not an http or https URL; use a complete URL such as %s", rawURL, inFull(rawURL))
	}
	u, err = url.Parse((&colly.Request{URL: u}).AbsoluteURL(rawURL))
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URL", rawURL)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// inFull returns the full URL that the user probably meant by an incomplete
// one. If the user wrote too little for a guess, inFull returns an example.
func inFull(text string) string {
	scheme, rest := "http", text
	if before, after, _ := strings.Cut(text, "/"); slices.Contains([]string{"http", "http:", "https", "https:"}, before) {
		scheme, rest = strings.TrimSuffix(before, ":"), after
	}
	rest = strings.TrimLeft(rest, "/")
	if rest == "" || strings.Contains(rest, "://") { // nothing is left, or the scheme is neither http nor https
		rest = "example.com/"
	}
	return scheme + "://" + rest
}
