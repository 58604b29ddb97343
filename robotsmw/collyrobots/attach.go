package collyrobots

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// An Extension is what Attach adds to a collector. Its fields are options: set
// them before the first request. All methods are safe for concurrent use.
type Extension struct {
	// ObeyRelNoFollow makes the extension count links with rel="nofollow"
	// instead of following them. A link is followed after all if the page also
	// links to the same URL without rel="nofollow". If Request.Visit makes a
	// request for a link that must not be followed, the extension aborts the
	// request in OnRequest. By then colly counts the URL as visited, so another
	// page's link to the URL is not followed either. For such a link,
	// Extension.Follow makes no request and leaves the URL unvisited. If
	// ObeyRelNoFollow is false, links with rel="nofollow" are followed like any
	// other. Google reads rel="nofollow" as a hint, not as a rule.
	ObeyRelNoFollow bool

	// RetryThrottled is how many times the extension repeats a GET or HEAD that
	// was answered 429 or 503. Each repeat waits until the Retry-After is over,
	// or for the Limiter's back-off if the answer has no Retry-After. OnError
	// is called each time. 0 or negative means never.
	RetryThrottled int

	// PutBack makes the extension repeat a request that the Limiter refused
	// with a *politeness.DelayError. It repeats the request at the time that
	// the error names. Until then, the thread of a synchronous collector does
	// other work. Together with Limiter.MaxWait, PutBack prevents a slow host
	// from holding all threads of a colly/queue: see the package doc. False
	// means that the error goes to OnError and the URL is not fetched.
	PutBack bool

	*sender
	first     *colly.Collector // the collector that Attach was given
	checker   *robotsmw.Checker
	opts      hubOptions
	page      robotsmw.PageOptions
	userAgent string
	tokens    []string

	mu        sync.RWMutex
	members   map[weak.Pointer[colly.Collector]]struct{}
	onBlocked []func(*colly.Request, robotsmw.Decision)

	marks marks
	later later
}

// anyDepth is the MaxDepth for a collector that has none. No crawl gets that
// deep. Pages that say nofollow are moved to this depth.
const anyDepth = 1 << 30

// Attach makes a collector obey robots.txt, keep a pace, and act on nofollow.
// It may be called before or after the collector's callbacks, limits, storage
// and queue are set up. The collector may be synchronous or asynchronous. The
// package doc says what Attach changes.
//
// If Base and Proxy are nil, requests go by the transport that the collector
// has, and by its proxies. Base or that transport may be a
// politeness.Transport. Then, if Options.Limiter is nil, the Limiter and the
// AttemptTimeout of the politeness.Transport are used. In all other cases
// without Options.Limiter, requests are paced by a zero politeness.Limiter that
// all such collectors of the process share. If AttemptTimeout is 0, each
// attempt may take as long as the collector's request timeout. That is 10 s,
// unless SetRequestTimeout sets another time, before or after Attach.
//
// Attach returns the errors of robotsmw.NewTransport. It also returns an error
// if the collector has a transport that hides addresses from
// Options.RefuseAddress, or if Attach does not know this version of colly.
func Attach(c *colly.Collector, opts robotsmw.Options) (*Extension, error) {
	if c == nil {
		return nil, errors.New("collyrobots: the collector is nil: attach to what colly.NewCollector returns")
	}
	b, err := backendOf(c)
	if err != nil {
		return nil, err
	}
	if keeperOf(b) != nil {
		return nil, errors.New("collyrobots: the collector already has an Extension: use that one, or a new collector")
	}
	client := *b.client
	if _, err := robotsmw.NewTransport(opts); err != nil {
		return nil, err
	}
	base, timeout := opts.Base, cmp.Or(opts.AttemptTimeout, client.Timeout, -1)
	named := base != nil || opts.Proxy != nil
	if !named {
		base = client.Transport
	}
	if paced, ok := base.(*politeness.Transport); ok && opts.Limiter == nil {
		opts.Limiter, timeout = paced.Limiter, paced.AttemptTimeout
		if opts.Limiter == nil {
			opts.Limiter = new(politeness.Limiter)
		}
		base = paced.Base
	} else if opts.Limiter == nil {
		opts.Limiter = commonLimiter(base)
	}
	if base, err = admit(base, opts.Limiter, opts.RefuseAddress); err != nil {
		return nil, fmt.Errorf("collyrobots: the collector has a transport of its own (a %T) that dials by itself, so "+
			"Options.RefuseAddress would see no address: give it a net.Dialer{Control: robotsmw.DialControl(f)} instead", client.Transport)
	}
	if opts.Proxy != nil {
		base, err = withProxy(base, opts.Proxy)
		if err != nil {
			return nil, err
		}
	}
	x := &Extension{
		sender:    &sender{agent: opts.UserAgent},
		first:     c,
		page:      opts.Page,
		userAgent: opts.UserAgent,
		members:   make(map[weak.Pointer[colly.Collector]]struct{}),
		opts:      hubOptions{opts.Limiter, opts.RefuseAddress, cmp.Or(opts.Logger, slog.Default()), named},
	}
	x.unread.shared = opts.Limiter.Key != nil || opts.Limiter.Within != nil || opts.Limiter.GlobalConcurrency > 0
	x.tries.count, x.tries.decide = &x.count, x.refusal
	x.main = newHub(b, x.opts, base, timeout)

	opts.Page.Off = true // the extension examines the body after colly has read it
	opts.Limiter, opts.Proxy, opts.RefuseAddress = nil, nil, nil
	opts.Base = underlay{x.sender}
	if x.inner, err = robotsmw.NewTransport(opts); err != nil {
		return nil, err
	}
	x.checker = x.inner.Checker()
	x.tokens = x.checker.Tokens()
	x.main.open(&guard{x.sender, x.main})
	x.enroll(c, x.main)
	return x, nil
}

// withProxy returns a copy of base that uses the proxy. base is
// http.DefaultTransport, or what the function admit returned for it.
func withProxy(base http.RoundTripper, proxy func(*http.Request) (*url.URL, error)) (http.RoundTripper, error) {
	t, ok := base.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("collyrobots: http.DefaultTransport is a %T, so Proxy cannot be applied to it: set Base", base)
	}
	t = t.Clone()
	t.Proxy = proxy
	return t, nil
}

// Add puts the extension on a further collector. The collector then shares the
// extension's robots.txt files, pace and counts. A clone of an attached
// collector obeys robots.txt and the pace without Add, because colly's clones
// share their client. But clones do not share callbacks. So a clone needs Add
// for nofollow, OnBlocked, PutBack, the check of cached pages and all else that
// happens in callbacks.
//
// An added collector that is not a clone sends by the first collector's
// transport, until it gets a transport of its own. But robots.txt is always
// fetched by the first collector's transport.
//
// The extension does not keep the collector alive. A collector that is no
// longer used leaves nothing behind.
func (x *Extension) Add(c *colly.Collector) error {
	if c == nil {
		return errors.New("collyrobots: the collector is nil: add what colly.NewCollector or Clone returns")
	}
	b, err := backendOf(c)
	if err != nil {
		return err
	}
	h, _ := keeperOf(b).(*hub)
	switch {
	case x.has(c):
		return errors.New("collyrobots: the extension is already attached to this collector")
	case h == nil && (*b.client).Transport != nil:
		return fmt.Errorf("collyrobots: the collector has a transport of its own (a %T), which Add would replace: "+
			"set it after Add, or add a collector that has none", (*b.client).Transport)
	case h != nil && !x.owns(h):
		return errors.New("collyrobots: the collector has another Extension: use that one, or a new collector")
	case h == nil:
		h = newHub(b, x.opts, *x.main.base.Load(), x.main.timeOf())
		h.open(&guard{x.sender, h})
	}
	x.enroll(c, h)
	return nil
}

func (x *Extension) owns(h *hub) bool { return h.guard.(*guard).sender == x.sender }

func (x *Extension) has(c *colly.Collector) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.members[weak.Make(c)]
	return ok
}

func (x *Extension) collectors() (list []*colly.Collector) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for p := range x.members {
		if c := p.Value(); c != nil {
			list = append(list, c)
		}
	}
	return list
}

func (x *Extension) enroll(c *colly.Collector, h *hub) {
	c.IgnoreRobotsTxt = true
	if c.UserAgent == collyAgent() {
		c.UserAgent = x.userAgent
	}
	if c.MaxDepth == 0 {
		c.MaxDepth = anyDepth
	}
	m := &member{Extension: x, c: c, hub: h}
	c.OnRequest(m.onRequest)
	c.OnResponseHeaders(m.onResponseHeaders)
	c.OnResponse(m.onResponse)
	c.OnError(m.onError)
	m.beLast()

	key := weak.Make(c)
	if c != x.first { // the first collector lives as long as the extension
		runtime.AddCleanup(c, x.drop, key)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.members[key] = struct{}{}
}

func (x *Extension) drop(key weak.Pointer[colly.Collector]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.members, key)
}

// Active reports whether the requests of all collectors can be sent. If a
// collector gets a transport that the extension cannot use, Active returns
// false, and requests of that collector fail with ErrBypassed.
func (x *Extension) Active() bool {
	for _, c := range x.collectors() {
		b, err := backendOf(c)
		if err != nil {
			return false
		}
		if h, ok := keeperOf(b).(*hub); !ok || h.sync() != nil {
			return false
		}
	}
	return true
}

// Checker returns the Checker that decides for the extension. A crawler that
// plans ahead may ask it.
func (x *Extension) Checker() *robotsmw.Checker { return x.checker }

// OnBlocked registers a function for requests that are refused because of
// robots.txt, also after a redirect. After a redirect, Request.URL is where the
// redirects began, and Decision.URL is what was refused. OnError handlers are
// called too.
func (x *Extension) OnBlocked(f func(*colly.Request, robotsmw.Decision)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.onBlocked = append(x.onBlocked, f)
}
