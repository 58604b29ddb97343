package collyrobots

import (
	"context"
	"net/http"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Directives returns what a page says about itself to this crawler: its
// X-Robots-Tag and, in HTML, its robots metas. It treats colly's body as the
// complete page, because it cannot see whether MaxBodySize has cut that body.
// If the answer is not the page but a refusal, such as the challenge of a wall,
// the field Refusal says so.
func (x *Extension) Directives(page *colly.Response) robotsmw.Page {
	refused, _ := refusal.Of(answerOf(page))
	if refused.Sure {
		return robotsmw.Page{Refusal: refused}
	}
	said := robotsmw.Page{Directives: x.header(page), State: robotsmw.PageHeaderOnly, Refusal: refused}
	switch {
	case !isHTML(page):
		return said
	case isEncoded(page):
		said.State = robotsmw.PageNotExamined
		return said
	}
	said.Directives = said.Union(htmlmeta.Scan(page.Body, x.tokens...))
	said.State = robotsmw.PageComplete
	if refused.Kind == 0 {
		said.Refusal, _ = refusal.OfPage(&http.Response{StatusCode: page.StatusCode}, page.Body)
	}
	return said
}

// answerOf returns a page's status and header as a response of net/http.
func answerOf(page *colly.Response) *http.Response {
	answer := &http.Response{StatusCode: page.StatusCode}
	if page.Headers != nil {
		answer.Header = *page.Headers
	}
	return answer
}

func (x *Extension) header(page *colly.Response) robotsmeta.Directives {
	if page.Headers == nil {
		return robotsmeta.Directives{}
	}
	return robotsmeta.ParseHeader(*page.Headers, x.tokens...)
}

// Indexable reports whether a page may be kept. It returns false if the page
// says noindex, or if the answer is surely a refusal and not the page.
func (x *Extension) Indexable(page *colly.Response) bool {
	said := x.Directives(page)
	return !said.NoIndex() && !said.Refusal.Sure
}

// isHTML reports whether page is HTML and has a body. A 206 does not count,
// because its body may not be the beginning of the page.
func isHTML(page *colly.Response) bool {
	if len(page.Body) == 0 || page.StatusCode == http.StatusPartialContent {
		return false
	}
	contentType := headerOf(page, "Content-Type")
	if contentType == "" { // colly does the same before it calls OnHTML
		contentType = http.DetectContentType(page.Body)
	}
	mediaType := strings.ToLower(strings.TrimSpace(contentType))
	if end := strings.IndexAny(mediaType, ";, \t"); end >= 0 { // some servers leave out the semicolon
		mediaType = mediaType[:end]
	}
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// isEncoded reports whether the body has a coding that colly has not decoded.
func isEncoded(page *colly.Response) bool {
	coding := strings.ToLower(headerOf(page, "Content-Encoding"))
	return coding != "" && coding != "identity" && !strings.Contains(coding, "gzip")
}

func headerOf(page *colly.Response, name string) string {
	if page.Headers == nil {
		return ""
	}
	return first(*page.Headers, name)
}

// Links returns the links of an HTML page in their order. Each link says
// whether the page is nofollow, and whether the link itself is. Links returns
// no links if the page is not HTML, is surely a refusal, or has a content
// coding that colly does not decode. Without ObeyRelNoFollow, a link with
// rel="nofollow" is returned as one that may be followed. Unlike Visit, Follow
// and Checker, this method does not ask robots.txt, because it might have to
// wait for the file.
func (x *Extension) Links(page *colly.Response) (*pagelinks.Page, error) {
	said := x.Directives(page)
	body := page.Body
	if said.State == robotsmw.PageHeaderOnly || said.Refusal.Sure || isEncoded(page) {
		body = nil
	}
	return pagelinks.FromHTML(context.Background(), body, page.Request.URL, said,
		pagelinks.Options{FollowRelNoFollow: !x.ObeyRelNoFollow})
}
