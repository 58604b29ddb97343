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
	maxBytes  = 1 << 20          // how much of a page is read
	maxTime   = 30 * time.Second // for robots.txt, redirects, the page and all waits
	freshness = 5 * time.Minute  // the time for which a page is not requested again
	maxPages  = 64               // maximum number of pages kept in memory
)

// A fetcher fetches pages and remembers the latest ones.
type fetcher struct {
	client  *http.Client
	tokens  []string // our product tokens
	maxTime time.Duration
	pages   pageCache
}

// newFetcher returns a fetcher. It returns an error if the options are invalid.
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
	preferences []string // of the owner, for the use of the page by AI
}

// These are errors of fetch, in addition to those of the http.Client.
var (
	errURL     = errors.New("not an http or https URL")
	errTooSlow = errors.New("the time limit was reached")
	errEvicted = errors.New("the page is unchanged, but its text is no longer in memory")
)

// A statusError is the error for a response whose status is not 2xx.
type statusError struct{ status string }

func (e *statusError) Error() string { return "the server responded with " + e.status }

// A blockedError is the error for a response of bot protection.
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
	if errors.Is(err, errEvicted) {
		d, err = f.get(ctx, u, "no-store") // so that revisit requests the whole page
	}
	if err != nil && context.Cause(ctx) == errTooSlow {
		err = fmt.Errorf("%w: %w", errTooSlow, err)
	}
	return d, err
}

// get is fetch without the time limit. If cacheControl is not "", it is sent
// with the request.
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
	if visit, ok := revisit.Of(resp); ok && visit.Unchanged {
		if d := f.pages.get(resp.Request.URL.String()); d != nil {
			return d, nil
		}
		return nil, errEvicted
	}
	d, err := f.read(resp)
	if err != nil {
		return nil, err
	}
	f.pages.put(d)
	return d, nil
}

// minText is the number of characters below which a page with an indicator of
// bot protection counts as a challenge.
const minText = 1000

// read returns the page in a response. It returns an error if the response
// contains no page.
func (f *fetcher) read(resp *http.Response) (*document, error) {
	if page := robotsmw.PageDirectives(resp); page.Refusal.Sure {
		return nil, &blockedError{page.Refusal}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, &statusError{resp.Status}
	}
	page, isTruncated, err := readable.ReadResponse(resp, maxBytes)
	if err != nil {
		return nil, err
	}
	d := &document{
		url:         resp.Request.URL.String(),
		title:       page.Title,
		text:        []rune(page.Text),
		isTruncated: isTruncated,
		preferences: f.preferences(resp),
	}
	// An indicator of bot protection in HTML is not sufficient by itself. If
	// the page has little text as well, it is a challenge.
	refusal := robotsmw.PageDirectives(resp).Refusal
	if refusal.Kind != 0 && len(d.text) < minText {
		return nil, &blockedError{refusal}
	}
	return d, nil
}

// preferences lists the statements of the page's owner on its use by AI, in
// robots.txt, in the header and in the page.
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
