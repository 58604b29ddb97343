package robotsmw

import (
	"context"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
)

// A sent is the context of a request that a Transport sends or admits. It
// contains the Crawl-delay for the Limiter and the state of the Transport.
// Using one value for all of this saves allocations.
type sent struct {
	context.Context
	hasCrawlDelay bool // whether the Limiter receives crawlDelay, even if it is 0
	permit             // for the check before the request is sent
	examined           // what is known about the response
}

type sentKey struct{}

func (s *sent) Value(key any) any {
	switch key {
	case sentKey{}:
		return s
	case examinedKey{}:
		return &s.examined
	case politeness.CrawlDelayKey{}:
		if s.hasCrawlDelay && !s.over.Load() {
			return &s.crawlDelay
		}
	case page.StandsFor{}:
		return nil // the caller may have passed the context of an earlier 304
	}
	return s.Context.Value(key)
}

// DecisionOf returns the decision that allowed a request of a Transport. ctx is
// the context with which the Transport sends or admits the request. DecisionOf
// is for code between the Transport and the network, such as the
// [politeness.Observer] of its Limiter, and for code that has the response: its
// Request has that context. For any other context, DecisionOf returns nil. The
// Decision is shared: do not change it.
func DecisionOf(ctx context.Context) *Decision {
	s, _ := ctx.Value(sentKey{}).(*sent)
	if s == nil {
		return nil
	}
	return s.latestDecision()
}
