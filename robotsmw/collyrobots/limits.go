package collyrobots

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"
)

// limits are the LimitRules of a backend. The extension enforces them in
// colly's place. In plain colly, a request would have its rule's slot while it
// waits for its host's pace. The requests for one host could then take all
// slots. Here, a request gets the slot when it may be sent. The slot is free
// again when the body has been read and the rule's delay is over.
type limits struct {
	mu    sync.Mutex
	rules []*colly.LimitRule
	slots map[*colly.LimitRule]chan struct{}
}

// learn stores the user's rules. It does not look at them, because
// Collector.Limit may not have initialized the last rule yet.
func (l *limits) learn(rules []*colly.LimitRule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = rules
}

func matching(rules []*colly.LimitRule, domain string) *colly.LimitRule {
	for _, r := range rules {
		if r.Match(domain) {
			return r
		}
	}
	return nil
}

// The results are the rule for the domain, and the rule's slots. Both are nil
// if no rule applies.
func (l *limits) of(domain string) (*colly.LimitRule, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rule := matching(l.rules, domain)
	if rule == nil {
		return nil, nil
	}
	slots := l.slots[rule]
	if slots == nil {
		if l.slots == nil {
			l.slots = make(map[*colly.LimitRule]chan struct{})
		}
		slots = make(chan struct{}, max(rule.Parallelism, 1))
		l.slots[rule] = slots
	}
	return rule, slots
}

// enter waits for a slot of the domain's rule. It returns a function that gives
// the slot back after the rule's delay.
func (l *limits) enter(ctx context.Context, domain string) (leave func(), err error) {
	rule, slots := l.of(domain)
	if rule == nil {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return func() {
		rest := rule.Delay
		if rule.RandomDelay > 0 {
			rest += rand.N(rule.RandomDelay)
		}
		if rest <= 0 {
			<-slots
			return
		}
		time.AfterFunc(rest, func() { <-slots })
	}, nil
}

type limited struct {
	base    http.RoundTripper
	limits  *limits
	timeout time.Duration // from getting the slot to the end of the body; negative means no timeout
}

func (l *limited) Unwrap() http.RoundTripper { return l.base }

func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	if pageOf(req.Context()) == nil { // a request for robots.txt, which colly does not limit either
		return l.base.RoundTrip(req)
	}
	leave, err := l.limits.enter(req.Context(), req.URL.Host)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	sent, end := req, leave
	if l.timeout > 0 {
		ctx, cancel := context.WithTimeout(req.Context(), l.timeout)
		sent, end = req.WithContext(ctx), func() { cancel(); leave() }
	}
	var resp *http.Response
	defer func() {
		if resp == nil || resp.Body == nil {
			end()
		}
	}()
	if resp, err = l.base.RoundTrip(sent); err != nil {
		return nil, err
	}
	if resp.Request == sent {
		resp.Request = req
	}
	if resp.Body != nil {
		resp.Body = &limitedBody{ReadCloser: resp.Body, leave: end}
	}
	return resp, nil
}

// limitedBody gives the slot back when the body ends or is closed.
type limitedBody struct {
	io.ReadCloser
	leave func()
	left  atomic.Bool
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *limitedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *limitedBody) end() {
	if b.left.CompareAndSwap(false, true) {
		b.leave()
	}
}
