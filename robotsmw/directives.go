package robotsmw

import (
	"context"
	"net/http"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// PageDirectives returns the directives of resp, a response of a Transport, for
// the Transport's product tokens. It neither reads nor delays resp.Body. It
// includes the directives of the HTML once the caller has read the body.
//
// The directives are those of resp, whatever its status. If resp is a 304 (Not
// Modified), the earlier directives of the page remain valid, and
// PageDirectives returns them if package revisit has stored them. If redirects
// were followed, resp is the last response, and PageDirectives considers no
// other, because the header of a redirect does not apply to the redirect's
// target.
//
// PageDirectives also reports a refusal, such as a challenge of bot protection.
// If the status and header identify it, it is reported immediately. If only the
// HTML identifies it, it is reported when the caller has read that part of the
// body. A response that is certainly a refusal has no directives, because it is
// not the page.
//
// If resp did not come through a Transport, PageDirectives returns the
// directives of the header for all robots, with PageNotExamined.
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
	e := examination(resp)
	if e.isRefusal() {
		return Page{Refusal: *e.refusal}
	}
	d := robotsmeta.ParseHeader(resp.Header, e.opts.Tokens...)
	if e.body != nil {
		var found robotsmeta.Directives
		var inBody *refusal.Refusal
		found, inBody, e.state = e.body.Result()
		d = d.Union(found)
		if outweighs(inBody, e.refusal) {
			e.refusal = inBody
		}
		if e.isRefusal() { // a rule of Options.Refusals matched the body
			return Page{Refusal: *e.refusal}
		}
	}
	p := Page{Directives: d, State: PageState(e.state)}
	if e.refusal != nil {
		p.Refusal = *e.refusal
	}
	return p
}

// examined is what the Transport knows about a response.
type examined struct {
	opts    *page.Options
	state   page.State       // the result if body is nil
	body    *page.Body       // nil if there is no HTML to examine
	refusal *refusal.Refusal // found by status and header; nil if there is none
}

// isRefusal reports whether the response is certainly a refusal.
func (e *examined) isRefusal() bool { return e.refusal != nil && e.refusal.Sure }

// outweighs reports whether a refusal found in the body replaces the one found
// by status and header. Either may be nil.
func outweighs(inBody, inHeader *refusal.Refusal) bool {
	return inHeader == nil || inBody != nil && inBody.Sure
}

type examinedKey struct{}

// examination returns what is known about resp. A Transport stores it in the
// context of the request that was sent, because http.Client may wrap the body.
// For any other response, only the status and header are examined.
func examination(resp *http.Response) examined {
	if resp.Request != nil {
		if e, ok := resp.Request.Context().Value(examinedKey{}).(*examined); ok {
			return *e
		}
	}
	return examined{opts: new(page.Options), refusal: detectRefusal(resp, nil), state: page.NotExamined}
}

// examine arranges that resp, the response to req, is examined while the caller
// reads the body. It may replace resp.Body, and sets resp.Request if Base has
// not set it.
func (e *examined) examine(ctx context.Context, resp *http.Response, req *http.Request) {
	if resp.Request == nil {
		resp.Request = req
	}
	if ctx.Value(page.ReadsItself{}) != nil {
		return
	}
	e.refusal = detectRefusal(resp, e.opts.Refusals)
	if e.isRefusal() {
		return // the response is not the page
	}
	e.body, e.state = page.Examine(ctx, resp, req.Method, e.opts)
}

// detectRefusal returns what the detector finds in the status and header, or
// nil if there is no refusal.
func detectRefusal(resp *http.Response, detector *refusal.Detector) *refusal.Refusal {
	r, ok := detector.Of(resp)
	if !ok {
		return nil
	}
	found := r // if &r were returned, r would be allocated for every response
	return &found
}
