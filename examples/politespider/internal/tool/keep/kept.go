package keep

import (
	"context"
	"log/slog"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Options says of what crawl the state is kept.
type Options struct {
	About  frontier.About
	Max    int           // pages to fetch at most
	Delay  time.Duration // between requests to a host
	Logger *slog.Logger
}

// Kept is the state of a crawl, where it is kept.
type Kept struct {
	Queue
	Store    robotsmw.Store   // of robots.txt records; nil: memory alone
	History  *History         // what happened in it; nil: that is not kept
	Fleet    politeness.Fleet // keeps one pace with other processes; nil: there are none
	GoOn     string           // how a crawl that was stopped goes on; "": not at all
	Complete string           // what to do if there is nothing left to do

	disconnect func() // nil: there is no connection
}

// Disconnect ends the connections that Store and Fleet use. Call it last.
func (k *Kept) Disconnect() {
	if k.disconnect != nil {
		k.disconnect()
	}
}

// Queue is what the spider wants of a frontier. What each method does is said
// in [frontier.Memory].
type Queue interface {
	Add(pages ...*frontier.Page) int
	Take(ctx context.Context) (*frontier.Page, bool)
	Done(p *frontier.Page, asked time.Time, interval time.Duration)
	Refund(p *frontier.Page)
	PutBack(p *frontier.Page, until time.Time)
	State() frontier.State
	Close() error
}

var (
	_ Queue = (*frontier.Memory)(nil)
	_ Queue = (*frontier.Directory)(nil)
	_ Queue = (*frontier.Redis)(nil)
)
