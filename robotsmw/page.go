package robotsmw

import (
	"context"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// A Page is what a response says about itself, as far as it is known: its
// X-Robots-Tag and Robots-Tag header at once, the robots metas of its HTML
// as its body is read. It is a snapshot; ask again when more was read.
type Page struct {
	robotsmeta.Directives
	State PageState
}

// A PageState says how much of a page its directives were taken from.
// Restrictions found count in every state; their absence is final in
// PageHeaderOnly and PageComplete alone.
type PageState uint8

const (
	// PageNotExamined: the body was not looked into. Its coding is unknown,
	// PageOptions.Off is set, or the response did not come through a
	// Transport. What an unexamined page says is unknown, not "nothing".
	PageNotExamined PageState = iota

	// PageHeaderOnly: there is no HTML body that could say more.
	PageHeaderOnly

	// PagePending: the body is still being read.
	PagePending

	// PagePartial: the body was closed early, or broke off.
	PagePartial

	// PageComplete: the page was read to its end, or as far as directives
	// are looked for (htmlmeta.Window; the head, with PageOptions.HeadOnly).
	PageComplete
)

// String returns "not examined", "header only", "pending", "partial" or
// "complete".
func (s PageState) String() string {
	switch s {
	case PageHeaderOnly:
		return "header only"
	case PagePending:
		return "pending"
	case PagePartial:
		return "partial"
	case PageComplete:
		return "complete"
	}
	return "not examined"
}

// PageDirectives returns what resp, which a Transport delivered, says about
// itself to the Transport's product tokens. It neither reads nor delays
// resp.Body: what is in the page is known once the caller has read it.
//
// What is said holds for that response, whatever its status: after a 304
// (Not Modified) what the page said before holds on, and a redirect's header
// is not its target's. Only the last hop's is told here.
//
// Of a response that came through no Transport it returns what the header
// says to everybody, with PageNotExamined.
//
// It may be called any number of times, also while another goroutine reads
// the body and after the body was closed.
func PageDirectives(resp *http.Response) Page {
	if resp == nil {
		return Page{}
	}
	p := pageOf(resp)
	if p == nil {
		return Page{Directives: robotsmeta.ParseHeader(resp.Header)}
	}
	d := robotsmeta.ParseHeader(resp.Header, p.cfg.tokens...)
	if p.body == nil {
		return Page{d, p.state}
	}
	found, state := p.body.directives()
	return Page{d.Union(found), state}
}

// pageOf finds a response's page through the context of the request that
// was sent, because http.Client wraps the body.
func pageOf(resp *http.Response) *page {
	if resp.Request == nil {
		b, _ := resp.Body.(*pageBody)
		if b == nil {
			return nil
		}
		return b.page
	}
	p, _ := resp.Request.Context().Value(pageKey{}).(*page)
	return p
}

// A page is the state of one request. It is the context that the request is
// sent with, which also tells the Limiter the Crawl-delay, so that all of that
// costs one allocation.
type page struct {
	context.Context
	cfg   *config
	state PageState // where body is nil
	body  *pageBody // set where there is HTML to look at

	tells      bool          // the Crawl-delay
	crawlDelay time.Duration // 0, which is told too: none
}

type pageKey struct{}

func (p *page) Value(key any) any {
	switch key {
	case pageKey{}:
		return p
	case politeness.CrawlDelayKey{}:
		if p.tells {
			return &p.crawlDelay
		}
	}
	return p.Context.Value(key)
}

// attach has resp, the answer to req, looked at while the caller reads it.
// It replaces resp.Body at most.
func (p *page) attach(resp *http.Response, req *http.Request) {
	switch {
	case resp == nil:
		return
	case !hasHTML(resp, req.Method):
		p.state = PageHeaderOnly
		return
	case p.cfg.Page.Off:
		return
	}
	decode, known := p.cfg.Page.decoder(resp.Header)
	if !known {
		return
	}
	b := &pageBody{ReadCloser: resp.Body, page: p, decode: decode, left: resp.ContentLength}
	b.scanner = htmlmeta.Scanner{Tokens: p.cfg.tokens, HeadOnly: p.cfg.Page.HeadOnly, Charset: charset(resp.Header)}
	p.body = b
	if p.cfg.Page.ReadAhead > 0 {
		b.readAhead(p.Context, p.cfg.Page)
	}
	resp.Body = b
}
