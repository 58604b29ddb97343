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
		const format = "%q is not an http or https URL; use a complete URL such as %s"
		return nil, fmt.Errorf(format, rawURL, completeURL(rawURL))
	}
	u, err = url.Parse((&colly.Request{URL: u}).AbsoluteURL(rawURL))
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URL", rawURL)
	}
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}

// completeURL returns the complete URL that the user probably meant by an
// incomplete one. If there is too little text for a guess, completeURL returns
// an example.
func completeURL(text string) string {
	scheme := "http"
	rest := text
	before, after, _ := strings.Cut(text, "/")
	if slices.Contains([]string{"http", "http:", "https", "https:"}, before) {
		scheme = strings.TrimSuffix(before, ":")
		rest = after
	}
	rest = strings.TrimLeft(rest, "/")
	hasOtherScheme := strings.Contains(rest, "://")
	if rest == "" || hasOtherScheme {
		rest = "example.com/"
	}
	return scheme + "://" + rest
}
