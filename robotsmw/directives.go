package robotsmw

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// PageDirectives returns what resp, which a Transport delivered, says about
// itself to the Transport's product tokens. It neither reads nor delays
// resp.Body: what is in the page is known once the caller has read it.
//
// What is said holds for that response, whatever its status: after a 304
// (Not Modified) what the page said before holds on, and a redirect's header
// is not its target's. Only the last hop's is told here.
//
// A refusal, such as the challenge of a wall, is told likewise: at once where
// status and header say so, and where the HTML has the marks of one, as it is
// read. What is surely a refusal says nothing else, for it is not the page.
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

// lookedAt finds what look left of a response through the context of the
// request that was sent, because http.Client wraps the body.
func lookedAt(resp *http.Response) (tokens []string, body *page.Body, refused *refusal.Refusal, state page.State) {
	if resp.Request == nil {
		if body, _ = resp.Body.(*page.Body); body != nil {
			tokens = body.Tokens()
		}
		return tokens, body, refusalOf(resp), page.NotExamined
	}
	s, _ := resp.Request.Context().Value(sentKey{}).(*sent)
	if s == nil {
		return nil, nil, refusalOf(resp), page.NotExamined
	}
	return s.opts.Tokens, s.body, s.refused, s.state
}

// refusalOf is refusal.Of, with nil for none.
func refusalOf(resp *http.Response) *refusal.Refusal {
	r, ok := refusal.Of(resp)
	if !ok {
		return nil
	}
	found := r // else r itself would be allocated for every response
	return &found
}

// isClean reports whether the body of a politeness.Transport says that status
// and header are no refusal.
func isClean(body io.ReadCloser) bool {
	b, ok := body.(interface{ NoRefusal() bool })
	return ok && b.NoRefusal()
}

// A sent is the state of one request. It is the context that the request is
// sent with, which also tells the Limiter the Crawl-delay, so that all of that
// costs one allocation.
type sent struct {
	context.Context
	opts  *page.Options
	state page.State // where body is nil
	body  *page.Body // set where there is HTML to look at

	refused *refusal.Refusal // by status and header; nil: no

	tells      bool          // the Crawl-delay
	crawlDelay time.Duration // 0, which is told too: none

	decision *Decision // nil: nobody observes them
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

// DecisionOf returns the decision by which a Transport sends a request, given
// the context that it sends it with: for what stands between it and the
// network, such as the [politeness.Observer] of its Limiter. It returns nil for
// any other context, and if nobody observes decisions ([Observer.Decided]). It
// is shared: do not change it.
func DecisionOf(ctx context.Context) *Decision {
	s, _ := ctx.Value(sentKey{}).(*sent)
	if s == nil {
		return nil
	}
	return s.decision
}

// look has resp, the answer to req, looked at while the caller reads it. It
// replaces resp.Body at most. With paced, resp comes from a politeness.Transport
// as it is, and that has looked for a refusal already.
func (s *sent) look(resp *http.Response, req *http.Request, paced bool) {
	if !paced || !isClean(resp.Body) {
		if s.refused = refusalOf(resp); s.refused != nil && s.refused.Sure {
			return // it is not the page, whatever it says
		}
	}
	s.body, s.state = page.Look(s.Context, resp, req.Method, s.opts)
}
