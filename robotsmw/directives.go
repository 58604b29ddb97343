package robotsmw

import (
	"context"
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
// PageDirectives also reports a refusal, such as a challenge of bot protection.
// A refusal that status and header show is known at once. A refusal that marks
// in the HTML show is known when the marks have been read. A sure refusal has
// no directives, because it is not the page.
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
	if e.refused != nil && e.refused.Sure {
		return Page{Refusal: *e.refused}
	}
	d := robotsmeta.ParseHeader(resp.Header, e.opts.Tokens...)
	if e.body != nil {
		var found robotsmeta.Directives
		var marks *refusal.Refusal
		found, marks, e.state = e.body.Result()
		d = d.Union(found)
		if e.refused == nil || marks != nil && marks.Sure {
			e.refused = marks
		}
		if e.refused != nil && e.refused.Sure { // by a rule of Options.Refusals
			return Page{Refusal: *e.refused}
		}
	}
	p := Page{Directives: d, State: PageState(e.state)}
	if e.refused != nil {
		p.Refusal = *e.refused
	}
	return p
}

// examined is what the Transport knows about a response.
type examined struct {
	opts    *page.Options
	state   page.State       // what is known of the page if body is nil
	body    *page.Body       // set if there is HTML to examine
	refused *refusal.Refusal // a refusal found by status and header; nil if none
}

type examinedKey struct{}

// examination takes what is known about resp from the context of the request
// that was sent, because http.Client may wrap the body.
func examination(resp *http.Response) examined {
	if resp.Request != nil {
		if e, ok := resp.Request.Context().Value(examinedKey{}).(*examined); ok {
			return *e
		}
	}
	return examined{opts: new(page.Options), refused: detectRefusal(resp, nil), state: page.NotExamined}
}

// examine arranges that resp, the answer to req, is examined while the caller
// reads the body. It may replace resp.Body, and sets resp.Request if Base has
// not set it. It changes nothing else of resp.
func (e *examined) examine(ctx context.Context, resp *http.Response, req *http.Request) {
	if resp.Request == nil {
		resp.Request = req
	}
	if ctx.Value(page.ReadsItself{}) != nil {
		return
	}
	e.refused = detectRefusal(resp, e.opts.Refusals)
	if e.refused != nil && e.refused.Sure {
		return // a sure refusal is not the page, so it is not examined
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
