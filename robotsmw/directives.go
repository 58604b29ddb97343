package robotsmw

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// PageDirectives returns the directives of resp, a response of a Transport, for
// the Transport's product tokens. It neither reads nor delays resp.Body. The
// directives of the HTML are known when the caller has read the body.
//
// The directives are those of resp, whatever its status. If resp is a 304 (Not
// Modified), the earlier directives of the page remain valid: package revisit
// remembers them, and then they are returned. If redirects were
// followed, resp is the last response, and PageDirectives looks at no other:
// the header of a redirect says nothing about the redirect's target.
//
// PageDirectives also reports a refusal, such as the challenge of a wall. A
// refusal found by status and header is known at once. A refusal found by marks
// in the HTML is known when the marks have been read. A sure refusal has no
// directives, because it is not the page.
//
// If resp did not come through a Transport, PageDirectives returns what the
// header says to everybody, with PageNotExamined.
//
// PageDirectives may be called any number of times, also while another
// goroutine reads the body, and after the body was closed.
func PageDirectives(resp *http.Response) Page {
	if resp == nil {
		return Page{}
	}
	if resp.StatusCode == http.StatusNotModified && resp.Request != nil {
		if p, ok := resp.Request.Context().Value(page.StandsFor{}).(Page); ok {
			return p
		}
	}
	tokens, body, refused, state := lookedAt(resp)
	if refused != nil && refused.Sure {
		return Page{Refusal: *refused}
	}
	d := robotsmeta.ParseHeader(resp.Header, tokens...)
	if body != nil {
		var found robotsmeta.Directives
		var marks *refusal.Refusal
		found, marks, state = body.Says()
		d, refused = d.Union(found), cmp.Or(refused, marks)
	}
	says := Page{Directives: d, State: PageState(state)}
	if refused != nil {
		says.Refusal = *refused
	}
	return says
}

// lookedAt returns what the Transport knows about resp. It takes this from the
// context of the request that was sent, because http.Client may wrap the body.
func lookedAt(resp *http.Response) (tokens []string, body *page.Body, refused *refusal.Refusal, state page.State) {
	if resp.Request != nil {
		if s, ok := resp.Request.Context().Value(sentKey{}).(*sent); ok {
			return s.opts.Tokens, s.body, s.refused, s.state
		}
	}
	return nil, nil, refusalOf(resp), page.NotExamined
}

// refusalOf returns what refusal.Of finds, or nil if there is no refusal.
func refusalOf(resp *http.Response) *refusal.Refusal {
	r, ok := refusal.Of(resp)
	if !ok {
		return nil
	}
	found := r // if &r were returned, r would be allocated for every response
	return &found
}

// isClean reports whether body comes from a politeness.Transport that has found
// no refusal in status and header.
func isClean(body io.ReadCloser) bool {
	b, ok := body.(interface{ NoRefusal() bool })
	return ok && b.NoRefusal()
}

// A *sent holds the state of a request. It is also the context that the request
// is sent with, and it tells the Limiter the Crawl-delay. One value for all
// three saves allocations.
type sent struct {
	context.Context
	opts  *page.Options
	state page.State // what is known of the page if body is nil
	body  *page.Body // set if there is HTML to examine

	refused *refusal.Refusal // a refusal found by status and header; nil if none

	tells      bool          // whether the Limiter gets the crawlDelay
	crawlDelay time.Duration // 0 if there is none; the Limiter gets a 0 like any other value

	decision atomic.Pointer[Decision] // nil if Observer.Decided is not set
	permission
}

// A permission is what a request was allowed by. A wait for the host's pace can
// outlast it, so it is checked again when the request may start.
type permission struct {
	checker *Checker
	origin  string
	url     *url.URL
	time    time.Time
	record  atomic.Pointer[record.Record]
}

type sentKey struct{}

func (s *sent) Value(key any) any {
	switch key {
	case sentKey{}:
		return s
	case politeness.CrawlDelayKey{}:
		if s.tells {
			return &s.crawlDelay
		}
	}
	return s.Context.Value(key)
}

// DecisionOf returns the decision that allowed a request of a Transport. ctx is
// the context with which the Transport sends the request. DecisionOf is for
// code between the Transport and the network, such as the [politeness.Observer]
// of its Limiter. For any other context, DecisionOf returns nil. It always
// returns nil if [Observer.Decided] is not set. The Decision is shared: do not
// change it.
func DecisionOf(ctx context.Context) *Decision {
	s, _ := ctx.Value(sentKey{}).(*sent)
	if s == nil {
		return nil
	}
	return s.decision.Load()
}

// look arranges that resp, the answer to req, is examined while the caller
// reads the body. It may replace resp.Body, and sets resp.Request if Base has
// not set it. It changes nothing else of resp. If paced is true, resp comes
// directly from a politeness.Transport, which has already looked for a refusal.
func (s *sent) look(resp *http.Response, req *http.Request, paced bool) {
	if resp.Request == nil {
		resp.Request = req
	}
	if !paced || !isClean(resp.Body) {
		if s.refused = refusalOf(resp); s.refused != nil && s.refused.Sure {
			return // a sure refusal is not the page, so it is not examined
		}
	}
	s.body, s.state = page.Look(s.Context, resp, req.Method, s.opts)
}
