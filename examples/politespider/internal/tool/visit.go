package tool

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// A Visit is one attempt at a page. Only one goroutine at a time may call its
// methods.
type Visit struct {
	job        *Job
	page       *frontier.Page
	check      string // the URL to request instead of the page, to check the server; "" if none
	attempt    attempt
	response   *colly.Response // nil means there was no response
	directives robotsmw.Page
	info       record.PageInfo
	links      storedLinks
	linksError error // why the links could not be read; nil if they were read
}

// Visits yields each page as soon as its host is due. It ends when no page is
// left or ctx ends. Call End for each Visit. If several workers call Visits,
// they share the pages.
func (j *Job) Visits(ctx context.Context) iter.Seq[*Visit] {
	return func(yield func(*Visit) bool) {
		j.once.Do(j.begin)
		for {
			page, ok := j.frontier.Take(ctx)
			if !ok {
				return
			}
			v := &Visit{job: j, page: page}
			v.check = j.health.check(record.Origin(page.URL), page.URL)
			j.recorder.attempts.Store(v.URL(), &v.attempt)
			if !yield(v) {
				return
			}
		}
	}
}

// begin starts the output and queues the start URLs. Visits calls it once,
// before it yields the first page.
func (j *Job) begin() {
	j.ledger.Begin()
	for _, u := range j.opts.start {
		j.frontier.Add(&frontier.Page{URL: u.String(), Host: frontier.HostKey(u)})
	}
	if s := j.frontier.State(); j.opts.shared != nil && s.Spent+s.Free+s.Out > 0 {
		j.printf("joining a crawl with %s done, %d queued and %s busy; this process starts when a host is free",
			record.Count(s.Spent+s.Free, "URL"), s.Queued, record.Count(s.Out, "host"))
	}
	j.stopProgress = j.ledger.ShowProgress(j.frontier.State)
}

// URL returns the URL to request: that of the page, or another one if the
// server must be checked first.
func (v *Visit) URL() string {
	return cmp.Or(v.check, v.page.URL)
}

// Header returns the header of the request. It is nil unless a conditional
// request must be avoided: for a sitemap, because its text is not kept, and for
// a check, because the server itself must respond.
func (v *Visit) Header() http.Header {
	return v.job.revisits.header(v.URL(), v.page.Sitemap || v.check != "")
}

// SetResponse sets the response, together with its directives and the
// preferences of its owner for the use of the page. The tokens are the product
// tokens of the robot that would use the page.
func (v *Visit) SetResponse(r *colly.Response, directives robotsmw.Page, tokens []string) {
	v.response = r
	v.directives = directives
	in := preference.Input{
		Tokens:       tokens,
		Target:       r.Request.URL.String(),
		Header:       *r.Headers,
		Page:         directives.Directives,
		PolicyTokens: v.job.opts.policyTokens,
		RSL:          v.job.opts.terms,
	}
	if v.attempt.decision != nil {
		in.Robots = v.attempt.decision.File()
	}
	v.info = newPageInfo(r, directives, in)
}

// SetLinks sets the links of the page. err is the reason why the links could
// not be read, or nil.
func (v *Visit) SetLinks(page *pagelinks.Page, err error) {
	v.linksError = err
	if err != nil {
		return
	}
	v.links = classifyLinks(page)
	addLinkFacts(page, v.links, &v.info)
}
