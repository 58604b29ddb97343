package collyrobots

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// An Extension is what Attach puts on a collector. Its fields are options: set
// them before the first request. All methods are safe for concurrent use.
type Extension struct {
	// ObeyRelNoFollow does not follow rel="nofollow" links, unless the page has
	// another link to the URL, and counts them. A request for one that
	// Request.Visit makes is aborted in OnRequest, where it counts as visited
	// already: another page's link to it is then not followed either.
	// Extension.Follow leaves it unvisited. False: such a link is followed like
	// any other; to Google, too, it is a hint about ranking.
	ObeyRelNoFollow bool

	// RetryThrottled is how often a GET or HEAD that was answered 429 or 503 is
	// repeated once its Retry-After (or the Limiter's back-off, if the answer
	// has none) is over. OnError is called each time. 0 or negative: never.
	RetryThrottled int

	// PutBack repeats a request that the Limiter refuses with a
	// *politeness.DelayError, when the time that the error names has come, in
	// place of losing it; and it lets nothing wait meanwhile that has other
	// work. Together with Limiter.MaxWait it keeps a slow host from holding up
	// the few threads of a colly/queue: see the package doc. False: the error
	// goes to OnError and the URL is not fetched.
	PutBack bool

	transport *transport
	checker   *robotsmw.Checker
	limiter   *politeness.Limiter // nil: not known, it is somewhere inside Base
	page      robotsmw.PageOptions
	userAgent string
	tokens    []string

	look sync.Mutex // held while looking whether a collector was bypassed

	mu        sync.RWMutex
	members   []*member
	onBlocked []func(*colly.Request, robotsmw.Decision)

	marks marks
	later later
	count counters
}

// anyDepth is the MaxDepth of a collector without one: no crawl gets there, but
// there must be something too deep.
const anyDepth = 1 << 30

// collyAgent is the User-Agent of a collector that nobody has named.
var collyAgent = sync.OnceValue(func() string {
	var c colly.Collector
	c.Init()
	return c.UserAgent
})

// Attach makes a collector obey robots.txt, keep a pace, and act on nofollow.
// It may be called before or after the collector's callbacks, limits, storage
// and queue are set up, on synchronous and asynchronous ones; the package doc
// says what it changes.
//
// With a nil Options.Limiter requests are paced by a zero politeness.Limiter,
// unless Base is a politeness.Transport. With an AttemptTimeout of 0 each
// attempt may take as long as the collector's request timeout is: 10 s, or what
// SetRequestTimeout said before.
//
// Its errors are those of robotsmw.NewTransport, and one for a collector that
// already has a transport or a proxy of its own while opts has neither Base nor
// Proxy: it would be replaced without a word.
func Attach(c *colly.Collector, opts robotsmw.Options) (*Extension, error) {
	if c == nil {
		return nil, errors.New("collyrobots: the collector is nil: attach to what colly.NewCollector returns")
	}
	switch own, err := transportOf(c); {
	case err == errUninitialized:
		return nil, err
	case isOurs(own):
		return nil, errors.New("collyrobots: the collector already has an Extension: use that one, or a new collector")
	case own != nil && opts.Base == nil && opts.Proxy == nil:
		return nil, fmt.Errorf("collyrobots: the collector has a transport of its own (a %T: SetProxy, SetProxyFunc, SetClient "+
			"or WithTransport was called), which Attach would replace: give it as Options.Base, or the proxy as Options.Proxy", own)
	}
	paced, _ := opts.Base.(*politeness.Transport)
	if opts.Limiter == nil && paced == nil {
		opts.Limiter = new(politeness.Limiter)
	}
	if opts.AttemptTimeout == 0 {
		opts.AttemptTimeout = cmp.Or(timeoutOf(c), -1)
	}
	page := opts.Page
	opts.Page.Off = true // colly reads the body, and the extension looks into it then
	inner, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	x := &Extension{
		checker:   inner.Checker(),
		limiter:   opts.Limiter,
		page:      page,
		userAgent: opts.UserAgent,
		tokens:    inner.Checker().Tokens(),
	}
	if x.limiter == nil {
		x.limiter = paced.Limiter
	}
	x.transport = &transport{inner: inner, agent: opts.UserAgent, count: &x.count}
	x.enroll(c)
	return x, nil
}

// Add puts the same extension on a further collector: one set of robots.txt
// files, one pace, one set of counts. A clone of an attached collector obeys
// without it, because colly's clones share their transport; but they do not
// share callbacks, so nofollow, OnBlocked and what else happens in callbacks
// needs this call.
func (x *Extension) Add(c *colly.Collector) error {
	if c == nil {
		return errors.New("collyrobots: the collector is nil: add what colly.NewCollector or Clone returns")
	}
	switch own, err := transportOf(c); {
	case err == errUninitialized:
		return err
	case x.memberOf(c) != nil:
		return errors.New("collyrobots: the extension is already attached to this collector")
	case own != nil && !x.isMine(own):
		return fmt.Errorf("collyrobots: the collector has a transport of its own (a %T), which Add would replace: add one that has none", own)
	}
	x.enroll(c)
	return nil
}

func (x *Extension) memberOf(c *colly.Collector) *member {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, m := range x.members {
		if m.c == c {
			return m
		}
	}
	return nil
}

func (x *Extension) enroll(c *colly.Collector) {
	c.WithTransport(x.transport)
	c.SetRequestTimeout(0) // it would count the time spent waiting; Options.AttemptTimeout does not
	c.IgnoreRobotsTxt = true
	if c.UserAgent == collyAgent() {
		c.UserAgent = x.userAgent
	}
	if c.MaxDepth == 0 {
		c.MaxDepth = anyDepth
	}
	m := &member{Extension: x, c: c}
	c.OnRequest(m.onRequest)
	c.OnResponseHeaders(m.onResponseHeaders)
	c.OnResponse(m.onResponse)
	c.OnError(m.onError)

	x.mu.Lock()
	defer x.mu.Unlock()
	x.members = append(x.members, m)
}

// Checker decides for the extension: a crawler that plans ahead may ask it.
func (x *Extension) Checker() *robotsmw.Checker { return x.checker }

// OnBlocked registers a function that is called for each request refused
// because of robots.txt, also when a redirect leads to what is refused:
// Request.URL is then where it began, Decision.URL what was refused. OnError
// handlers are called as well.
func (x *Extension) OnBlocked(f func(*colly.Request, robotsmw.Decision)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.onBlocked = append(x.onBlocked, f)
}
