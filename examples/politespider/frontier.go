package main

import (
	"context"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// queue is what the spider wants of a frontier: what each method does is said in [frontier.Memory].
type queue interface {
	Add(pages ...*frontier.Page) int
	Take(ctx context.Context) (*frontier.Page, bool)
	Done(p *frontier.Page, asked time.Time, interval time.Duration)
	Refund(p *frontier.Page)
	PutBack(p *frontier.Page, until time.Time)
	State() frontier.State
	Close() error
}

var (
	_ queue = (*frontier.Memory)(nil)
	_ queue = (*frontier.Directory)(nil)
	_ queue = (*frontier.Redis)(nil)
)
