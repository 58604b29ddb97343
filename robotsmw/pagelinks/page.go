package pagelinks

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// A Page is an HTML page with its links.
type Page struct {
	URL       *url.URL      // the URL of the page
	Says      robotsmw.Page // the directives of the page
	Links     []Link        // in the order of the page; links in <noscript> may be last
	Refresh   *Refresh      // the <meta http-equiv="refresh">; nil if there is none
	Canonical *url.URL      // the <link rel="canonical">; nil if there is none
	Licenses  []*url.URL    // each <link rel="license">, in RSL 1.0 or another format

	// Truncated reports whether links may be missing, because the page has more
	// than 16 MiB, because resolved URLs are too long, or because the elements
	// in a <noscript> are nested too deeply.
	Truncated bool

	checker       *robotsmw.Checker
	base          *url.URL // the URL that links are resolved against
	resolvedBytes int      // the number of bytes that resolving has added to URLs
}

// A Link is a link of a page.
type Link struct {
	URL      *url.URL // absolute, without a fragment
	Element  string   // "a", "area", "iframe", "frame", or "meta" for a refresh
	Rel      string   // the rel attribute, unchanged
	NoFollow bool     // whether Rel contains nofollow

	// Decision is the result of the robots.txt check. It is zero if there is no
	// Checker, if nofollow excludes the link, or if the check failed with Err.
	Decision robotsmw.Decision
	Err      error
}

// A Refresh is the first valid <meta http-equiv="refresh"> of a page. Its URL
// is also in Page.Links, unless it is the URL of the page itself.
type Refresh struct {
	Delay time.Duration
	URL   *url.URL
}

// Queue returns the URLs that a polite crawler may fetch next, in the order of
// Links and without duplicates.
func (p *Page) Queue() []*url.URL {
	var queue []*url.URL
	seen := map[string]bool{}
	for _, l := range p.Links {
		key := l.URL.String()
		if seen[key] || !p.Follows(l) {
			continue
		}
		seen[key] = true
		queue = append(queue, l.URL)
	}
	return queue
}

// Follows reports whether a link of p may be followed.
func (p *Page) Follows(l Link) bool {
	if p.excludes(l) {
		return false
	}
	return p.checker == nil || l.Decision.Allowed
}

// excludes reports whether nofollow excludes a link.
func (p *Page) excludes(l Link) bool { return p.Says.NoFollow() || l.NoFollow }

// maxParallelChecks is the maximum number of origins whose robots.txt files are
// fetched in parallel. It limits the sockets of this process, and not the load
// of a server, because most origins are on different servers.
const maxParallelChecks = 64

// check sets Decision and Err of the links that nofollow does not exclude. It
// returns an error if ctx is canceled.
func (p *Page) check(ctx context.Context) error {
	byOrigin := make(map[string][]*Link)
	for i := range p.Links {
		l := &p.Links[i]
		if p.excludes(*l) {
			continue
		}
		origin := l.URL.Scheme + "://" + l.URL.Host
		byOrigin[origin] = append(byOrigin[origin], l)
	}
	var wg sync.WaitGroup
	semaphore := make(chan struct{}, maxParallelChecks)
	for _, links := range byOrigin {
		semaphore <- struct{}{}
		wg.Go(func() {
			defer func() { <-semaphore }()
			for _, l := range links {
				l.Decision, l.Err = p.checker.Check(ctx, l.URL)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pagelinks: checking links of %s: %w", p.URL, err)
	}
	return nil
}
