package collyrobots

import (
	"context"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"
)

// The extension enforces LimitRules in colly's place. In plain colly, a request
// would have its rule's slot while it waits for its host's pace. The requests
// for one host could then take all slots. Here, a request gets the slot when it
// may be sent. The slot is free again when the body has been read and the
// rule's delay is over. The slots are colly's own, so collectors that were
// given the same rule share them.

func matching(rules []*colly.LimitRule, domain string) *colly.LimitRule {
	for _, r := range rules {
		if r.Match(domain) {
			return r
		}
	}
	return nil
}

// enter waits for a slot of a rule. It returns a function that gives the slot
// back after the rule's delay. If rule is nil, it returns nil.
func enter(ctx context.Context, rule *colly.LimitRule) (leave func(), err error) {
	if rule == nil {
		return nil, nil
	}
	slots := slotsOf(rule)
	select {
	case slots <- true:
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

// slotBody ends an attempt when the body ends or is closed: it gives back the
// slot of a LimitRule, and stops the timeout.
type slotBody struct {
	io.ReadCloser
	cancel context.CancelFunc // nil means that there is no timeout
	leave  func()             // nil means that there is no slot
	left   atomic.Bool
}

func (b *slotBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *slotBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *slotBody) end() {
	if !b.left.CompareAndSwap(false, true) {
		return
	}
	if b.cancel != nil {
		b.cancel()
	}
	if b.leave != nil {
		b.leave()
	}
}
