package robotsmw

import (
	"cmp"
	"io"
	"net/http"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
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
