package collyrobots

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

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
	outer := opts.Outer
	opts.Outer = nil
	if _, err := robotsmw.NewTransport(opts); err != nil {
		return nil, err
	}
	unshared := opts.Store != nil || opts.Base != nil || opts.Proxy != nil || opts.RefuseAddress != nil || client.Transport != nil
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
		own := base.(*http.Transport).Clone() // NewTransport has checked that
		own.Proxy, base = opts.Proxy, own
	}
	hubs := &hubOptions{limiter: opts.Limiter, refuse: opts.RefuseAddress, logger: cmp.Or(opts.Logger, slog.Default()), named: named}
	x := &Extension{
		sender:  &sender{agent: opts.UserAgent, opts: hubs},
		first:   c,
		members: make(map[weak.Pointer[colly.Collector]]struct{}),
	}
	x.unread.shared = opts.Limiter.Key != nil || opts.Limiter.Within != nil
	x.main = newHub(b, hubs, base, timeout)
	if !unshared {
		hubs.sharing = &sharing{records: recordsFor(opts)}
		opts.Store = hubs.sharing
	}

	opts.Base, opts.AttemptTimeout = outlet{x.sender}, longest
	opts.Proxy, opts.RefuseAddress = nil, nil
	robots, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	x.inner, x.checker = robots, robots.Checker()
	if outer != nil {
		x.inner = outer(robots)
	}
	x.tokens = x.checker.Tokens()
	x.main.open(&guard{x.sender, x.main})
	x.enroll(c, x.main)
	return x, nil
}

// longest is the AttemptTimeout of the politeness.Transport. The outlet ends an
// attempt much sooner. It must, because a program may change the timeout, and
// because a wait for a LimitRule must not count.
const longest = 24 * time.Hour

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
	switch {
	case x.has(c):
		return errors.New("collyrobots: the extension is already attached to this collector")
	case keeperOf(b) == nil && (*b.client).Transport != nil:
		return fmt.Errorf("collyrobots: the collector has a transport of its own (a %T), which Add would replace: "+
			"set it after Add, or add a collector that has none", (*b.client).Transport)
	}
	h, err := x.hubFor(b)
	if err != nil {
		return err
	}
	x.enroll(c, h)
	return nil
}

func (x *Extension) enroll(c *colly.Collector, h *hub) {
	c.IgnoreRobotsTxt = true
	if c.UserAgent == collyAgent() {
		c.UserAgent = x.agent
	}
	m := &member{Extension: x, c: c}
	m.hub.Store(h)
	m.register()

	key := weak.Make(c)
	if c != x.first { // the first collector lives as long as the extension
		runtime.AddCleanup(c, x.drop, key)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.members[key] = struct{}{}
}
