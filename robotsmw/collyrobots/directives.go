package collyrobots

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Directives are what a page says about itself to this crawler: its X-Robots-Tag and, in HTML, its robots metas. Options
// such as HeadOnly are those of Options.Page. The page counts as complete as colly has it: whether MaxBodySize cut it
// cannot be seen.
func (x *Extension) Directives(page *colly.Response) robotsmw.Page {
	said := robotsmw.Page{Directives: x.header(page), State: robotsmw.PageHeaderOnly}
	switch {
	case !isHTML(page):
		return said
	case x.page.Off || isEncoded(page):
		said.State = robotsmw.PageNotExamined
		return said
	}
	if x.page.HeadOnly {
		scanner := htmlmeta.Scanner{Tokens: x.tokens, HeadOnly: true}
		scanner.Write(page.Body)
		said.Directives = said.Union(scanner.Directives())
	} else {
		said.Directives = said.Union(htmlmeta.Scan(page.Body, x.tokens...))
	}
	said.State = robotsmw.PageComplete
	return said
}

func (x *Extension) header(page *colly.Response) robotsmeta.Directives {
	if page.Headers == nil {
		return robotsmeta.Directives{}
	}
	return robotsmeta.ParseHeader(*page.Headers, x.tokens...)
}

// Indexable reports whether a page may be kept: it does not say noindex.
func (x *Extension) Indexable(page *colly.Response) bool { return !x.Directives(page).NoIndex() }

// isHTML reports whether a page has HTML of which at least the beginning is there.
func isHTML(page *colly.Response) bool {
	if len(page.Body) == 0 || page.StatusCode == http.StatusPartialContent {
		return false
	}
	contentType := ""
	if page.Headers != nil {
		contentType = page.Headers.Get("Content-Type")
	}
	if contentType == "" { // as colly does before it calls OnHTML
		contentType = http.DetectContentType(page.Body)
	}
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// isEncoded reports whether the body is in a coding that colly has not undone.
func isEncoded(page *colly.Response) bool {
	if page.Headers == nil {
		return false
	}
	coding := strings.ToLower(page.Headers.Get("Content-Encoding"))
	return coding != "" && coding != "identity" && !strings.Contains(coding, "gzip")
}

// Links are the links of an HTML page, in its order, and what page and link say about following them; none, if it is no
// HTML. Links of a kind that RelNoFollow lets pass count as followed. robots.txt is not asked, for that could wait;
// Visit, Follow and Checker ask it.
func (x *Extension) Links(page *colly.Response) (*pagelinks.Page, error) {
	said := x.Directives(page)
	body := page.Body
	if said.State == robotsmw.PageHeaderOnly || isEncoded(page) {
		body = nil
	}
	return pagelinks.FromHTML(context.Background(), body, page.Request.URL, said,
		pagelinks.Options{FollowRel: x.RelNoFollow != RelObey})
}

// OnScraped registers a function as Collector.OnScraped does, on every collector that the extension is attached to so
// far. With SkipNoIndex it is not called for pages that say noindex. Their links are followed all the same.
func (x *Extension) OnScraped(f colly.ScrapedCallback) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, m := range x.members {
		m.c.OnScraped(func(page *colly.Response) {
			if !x.SkipNoIndex || x.Indexable(page) {
				f(page)
			}
		})
	}
}

// Visit is Collector.Visit for the collector that Attach was given, but asks robots.txt first: a URL that is refused
// stays unvisited, so that it can be visited when that changes, and costs none of MaxRequests. It may therefore wait
// for robots.txt, on asynchronous collectors too.
func (x *Extension) Visit(URL string) error {
	x.mu.RLock()
	c := x.members[0].c
	x.mu.RUnlock()
	if err := x.ask(c, URL); err != nil {
		return err
	}
	return c.Visit(URL)
}

// RelNoFollow is a treatment of rel="nofollow" links.
type RelNoFollow int

const (
	// RelIgnore follows them: to Google, too, they are a hint about ranking.
	RelIgnore RelNoFollow = iota

	// RelReport follows them, and Stats counts them.
	RelReport

	// RelObey counts them and does not follow them, unless the page has another link to the URL. A request for one that
	// Request.Visit makes is aborted in OnRequest, where it counts as visited already: another page's link to it is
	// then not followed either. Extension.Follow leaves it unvisited.
	RelObey
)

// NoFollowError is what Follow returns for a link that may not be followed. It is not marked as visited.
type NoFollowError struct {
	URL  string // absolute
	Page string // where the link is
	Rel  bool   // the link says so; else the whole page does
}

func (e *NoFollowError) Error() string {
	if e.Rel {
		return fmt.Sprintf("collyrobots: the link from %s to %s is rel=nofollow", e.Page, e.URL)
	}
	return fmt.Sprintf("collyrobots: the page %s says nofollow, so its link to %s is not followed", e.Page, e.URL)
}

// Follow visits the href of an element as Request.Visit does, unless the page or (with RelObey) the element itself says
// nofollow, or robots.txt refuses it. In each of these cases the URL stays unvisited. The error is then a
// *NoFollowError, or the same as from Visit.
func (x *Extension) Follow(e *colly.HTMLElement) error {
	target := e.Request.AbsoluteURL(e.Attr("href"))
	if target == "" {
		return fmt.Errorf("collyrobots: the element %s has no href to follow", e.Name)
	}
	if k := x.marks.of(e.Request.Ctx); k != nil && k.is(e.Request) && k.noFollow.Load() {
		x.count.linksRefused.Add(1)
		return &NoFollowError{URL: target, Page: e.Request.URL.String()}
	}
	if x.RelNoFollow == RelObey && hasNoFollow(e.Attr("rel")) {
		x.count.linksRefused.Add(1)
		return &NoFollowError{URL: target, Page: e.Request.URL.String(), Rel: true}
	}
	x.mu.RLock()
	c := x.members[0].c
	x.mu.RUnlock()
	if err := x.ask(c, target); err != nil {
		return err
	}
	return e.Request.Visit(target)
}

func hasNoFollow(rel string) bool {
	for token := range strings.FieldsFuncSeq(rel, func(r rune) bool { return r == ',' || strings.ContainsRune(" \t\n\f\r", r) }) {
		if strings.EqualFold(token, "nofollow") {
			return true
		}
	}
	return false
}

// ask returns the error with which a request for the URL would be refused because of robots.txt.
func (x *Extension) ask(c *colly.Collector, URL string) error {
	u, err := url.Parse(asSent(URL))
	if err != nil || u.Host == "" {
		return nil // colly knows better what is wrong with it
	}
	return x.decide(c, u)
}

// asSent is an absolute URL as colly sends it, but for the fragment; "" if it is none.
func asSent(URL string) string {
	target, _, _ := strings.Cut(anywhere.AbsoluteURL(URL), "#")
	return target
}

var anywhere = &colly.Request{URL: &url.URL{Scheme: "http", Host: "invalid"}}
