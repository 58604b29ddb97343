package tool

import (
	"context"
	"iter"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/witness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// Visit is one attempt at a page. Its methods are for one goroutine at a time.
type Visit struct {
	job        *Job
	page       *frontier.Page
	seen       *witness.Seen
	unwatch    func()
	response   *colly.Response // nil: there was none
	says       robotsmw.Page
	said       record.Said
	links      []string // absolute; to be followed
	left       []string // not to be
	linksError error    // they could not be read
}

// Visits yields the next page as soon as its host is due, until there are no
// more or the context ends. Each Visit must be ended by End. Any number of
// workers may have an iterator each: they share the pages.
func (j *Job) Visits(ctx context.Context) iter.Seq[*Visit] {
	return func(yield func(*Visit) bool) {
		j.once.Do(j.begin)
		for {
			page, ok := j.frontier.Take(ctx)
			if !ok {
				return
			}
			v := &Visit{job: j, page: page}
			v.seen, v.unwatch = j.witness.Watch(v.URL())
			if !yield(v) {
				return
			}
		}
	}
}

// URL returns the URL of the page.
func (v *Visit) URL() string { return v.page.URL.String() }

// Hear takes down a response: what its page says about itself, and what its
// owner says to these product tokens about the use of it.
func (v *Visit) Hear(r *colly.Response, says robotsmw.Page, tokens []string) {
	v.response, v.says = r, says
	in := preference.Input{
		Tokens:       tokens,
		Target:       r.Request.URL.String(),
		Header:       *r.Headers,
		Page:         says.Directives,
		PolicyTokens: v.job.opts.policyTokens,
		RSL:          v.job.opts.terms,
	}
	if v.seen.Decision != nil {
		in.Robots = v.seen.Decision.File()
	}
	v.said = saidOf(r, says, in)
}

// Follow takes down where the page leads. The error says why that is not known.
func (v *Visit) Follow(page *pagelinks.Page, err error) {
	if v.linksError = err; err == nil {
		v.links, v.left = linksOf(page, &v.said)
	}
}
