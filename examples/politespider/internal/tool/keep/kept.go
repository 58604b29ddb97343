// Package keep stores what outlives a process: the state of a crawl ([Kept]),
// and the fetched pages ([Pages]).
package keep

import (
	"context"
	"log/slog"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Options describe the crawl whose state is kept.
type Options struct {
	About  frontier.About
	Limits frontier.Limits
	Delay  time.Duration // minimum time between two requests to a host
	Logger *slog.Logger
}

// A Kept is the opened state of a crawl.
type Kept struct {
	Queue
	Store    robotsmw.Store   // keeps robots.txt records; nil means in memory only
	History  *History         // keeps the records of the crawl; nil if they are not kept
	Fleet    politeness.Fleet // shares the hosts' pace with other processes; nil if there are none
	GoOn     string           // how to continue a stopped crawl; "" if it cannot be continued
	Complete string           // message for the user if the crawl has no more pages to fetch

	Disconnect func() // closes the connections; call it last
}

// A Queue is the part of a frontier that the spider uses. [frontier.Queue]
// documents the methods.
type Queue interface {
	Add(pages ...*frontier.Page) int
	Take(ctx context.Context) (*frontier.Page, bool)
	Done(p *frontier.Page, lastRequest time.Time, interval time.Duration)
	Refuse(p *frontier.Page, lastRequest time.Time, interval time.Duration)
	Refund(p *frontier.Page)
	PutBack(p *frontier.Page, until time.Time)
	State() frontier.State
	Ended() map[string]int
	Close() error
}
