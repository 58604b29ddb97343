package collyrobots

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
)

// The extension enforces LimitRules instead of colly. In colly, a request would
// occupy a slot of its rule while it waits for its host, so that the requests
// for one host could occupy all slots. Here, a request gets a slot when it may
// be sent. The slot is free again when the body has been read and the delay of
// the rule is over. The slots are those of colly, so that collectors with the
// same rule share them.

// acquireSlot waits for a slot of a LimitRule. It returns a function that
// releases the slot after the rule's delay. Only the first call of the function
// has an effect. If ctx ends first, acquireSlot returns its cause.
func acquireSlot(ctx context.Context, rule *colly.LimitRule) (releaseSlot func(), err error) {
	slots := *ruleSlots(rule)
	select {
	case slots <- true:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return sync.OnceFunc(func() {
		delay := rule.Delay + rand.N(max(rule.RandomDelay, 1)) // rand.N panics if its argument is 0
		time.AfterFunc(delay, func() { <-slots })
	}), nil
}

// ruleFor returns the program's LimitRule for a domain, or nil.
func (g *guard) ruleFor(domain string) *colly.LimitRule {
	g.backend.lock.RLock()
	defer g.backend.lock.RUnlock()
	for _, r := range (*g.backend.rules)[1:] { // the first is the guard's
		if r.Match(domain) {
			return r
		}
	}
	return nil
}

// A slotBody releases its slot when the response's body ends or is closed.
type slotBody struct {
	io.ReadCloser
	releaseSlot func() // may be called more than once
}

func (b *slotBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.releaseSlot()
	}
	return n, err
}

func (b *slotBody) Close() error {
	defer b.releaseSlot()
	return b.ReadCloser.Close()
}
