package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/examples/internal/readable"
	"github.com/goodbots/courtesy/examples/internal/weburl"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/revisit"
)

const (
	maxBytes  = 1 << 20          // of a page
	maxTime   = 30 * time.Second // for robots.txt, redirects, the page and all waits
	freshness = 5 * time.Minute  // for which a page is not requested again
	maxPages  = 64               // that are kept for freshness
)

// A fetcher fetches pages and remembers the latest ones.
type fetcher struct {
	client  *http.Client
	tokens  []string // our product tokens
	maxTime time.Duration
	pages   pageCache
}

// newFetcher returns the error of the options.
func newFetcher(opts robotsmw.Options) (*fetcher, error) {
	opts.KeepFiles = true // for the preferences
	robots, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &revisit.Transport{Base: robots, MinFresh: freshness, MaxPages: maxPages}}
	return &fetcher{client: client, tokens: robots.Checker().Tokens(), maxTime: maxTime}, nil
}

// A document is a page that was fetched.
type document struct {
	url         string // after redirects
	title       string
	text        []rune
	isTruncated bool     // the page has more than maxBytes
	preferences []string // of the owner, about the use by AI
}

// Errors of fetch, beside those of an http.Client that obeys robots.txt.
var (
	errURL     = errors.New("not an http or https URL")
	errTooSlow = errors.New("the time limit was reached")

	errForgotten = errors.New("the page is unchanged, but its text is no longer in memory")
)

// A statusError is a response that has no page: its status is not 2xx.
type statusError struct{ status string }

func (e *statusError) Error() string { return "the server responded with " + e.status }

// A blockedError is a response of bot protection instead of the page.
type blockedError struct{ refusal refusal.Refusal }

func (e *blockedError) Error() string { return "the site refused: " + e.refusal.String() }

// fetch returns the page at a URL.
func (f *fetcher) fetch(ctx context.Context, raw string) (*document, error) {
	u, err := url.Parse(raw)
	if err != nil || !weburl.IsAbsolute(u) {
		return nil, fmt.Errorf("%q: %w", raw, errURL)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.maxTime, errTooSlow)
	defer cancel()
	d, err := f.get(ctx, u, "")
	if errors.Is(err, errForgotten) {
		d, err = f.get(ctx, u, "no-store") // so that revisit requests the whole page
	}
	if err != nil && context.Cause(ctx) == errTooSlow {
		err = fmt.Errorf("%w: %w", errTooSlow, err)
	}
	return d, err
}

func (f *fetcher) get(ctx context.Context, u *url.URL, cacheControl string) (*document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if cacheControl != "" {
		req.Header.Set("Cache-Control", cacheControl)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	final := resp.Request.URL
	if visit, ok := revisit.Of(resp); ok && visit.Unchanged {
		if d := f.pages.get(final.String()); d != nil {
			return d, nil
		}
		return nil, errForgotten
	}
	if page := robotsmw.PageDirectives(resp); page.Refusal.Sure {
		return nil, &blockedError{page.Refusal}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, &statusError{resp.Status}
	}
	shown, isTruncated, err := readable.ReadResponse(resp, maxBytes)
	if err != nil {
		return nil, err
	}
	d := &document{url: final.String(), title: shown.Title, text: []rune(shown.Text), isTruncated: isTruncated}
	// A mark of bot protection in HTML is only a sign. But if there is hardly
	// any text besides, the page is a challenge.
	if page := robotsmw.PageDirectives(resp); page.Refusal.Kind != 0 && len(d.text) < 1000 {
		return nil, &blockedError{page.Refusal}
	}
	d.preferences = f.preferences(resp)
	f.pages.put(d)
	return d, nil
}

// preferences lists what the owner of the page has stated about its use by AI,
// in robots.txt, in the header and in the page.
func (f *fetcher) preferences(resp *http.Response) (stated []string) {
	in := preference.Input{
		Tokens: f.tokens,
		Target: resp.Request.URL.String(),
		Header: resp.Header,
		Page:   robotsmw.PageDirectives(resp).Directives,
	}
	if d := robotsmw.DecisionOf(resp.Request.Context()); d != nil {
		in.Robots = d.File()
	}
	for _, s := range in.Says() {
		stated = append(stated, fmt.Sprintf("%s: %s", s.Use, s))
	}
	return stated
}
