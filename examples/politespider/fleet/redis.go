package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier/shared"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/politeness/redislimit"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
)

// A place is a crawl in Redis. It implements tool.Sharing.
type place struct {
	url   string
	crawl string        // the crawl's name in Redis
	lease time.Duration // how long a process may be silent before others take over its pages
}

// Define defines the flags that identify the crawl.
func (p *place) Define(flags *flag.FlagSet) {
	flags.StringVar(&p.url, "redis", "",
		"share the crawl with other processes through the Redis or Valkey at this `URL`,\nas in redis://user:password@127.0.0.1:6379/0; rediss for TLS; required")
	flags.StringVar(&p.crawl, "crawl", "crawl", "`name` of the crawl; the name of a complete crawl cannot be reused")
	flags.DurationVar(&p.lease, "lease", 15*time.Second,
		"`time` that a process may be silent before others take over its pages")
}

// Check returns an error if a flag has a bad value. It does not connect to
// Redis.
func (p *place) Check() error {
	switch {
	case p.url == "":
		return errors.New("-redis is required: the URL of the Redis server that the processes of the crawl share")
	case p.crawl == "" || strings.ContainsAny(p.crawl, `{}*?[]\ `):
		return fmt.Errorf("-crawl %q: must be a name without spaces, braces, brackets, *, ? and \\", p.crawl)
	case p.lease < time.Second:
		return fmt.Errorf("-lease %v: must be at least 1s", p.lease)
	}
	client, err := newClient(p.url, time.Second)
	if err != nil {
		return err
	}
	return client.Close() // the client never connected
}

// Open joins the crawl, or begins it.
func (p *place) Open(ctx context.Context, opts keep.Options) (*keep.Kept, error) {
	logging.Disable() // no log is needed: the calls return the important errors
	client, err := newClient(p.url, 5*time.Second)
	if err != nil {
		return nil, err
	}
	// The store and the fleet share the client named hasty. They can go on
	// while Redis does not answer, so this client waits only briefly for Redis.
	hasty, err := newClient(p.url, 500*time.Millisecond)
	if err != nil {
		return nil, err
	}
	kept, err := p.open(ctx, client, hasty, opts)
	if err != nil {
		return nil, errors.Join(err, client.Close(), hasty.Close())
	}
	return kept, nil
}

func (p *place) open(ctx context.Context, client, hasty redis.UniversalClient, opts keep.Options) (*keep.Kept, error) {
	store, err := redisstore.New(hasty, "politespider:")
	if err != nil {
		return nil, err
	}
	fleet, err := redislimit.New(hasty, redislimit.Options{
		Namespace: "politespider:" + p.crawl,
		Lease:     max(p.lease, 5*time.Second), // redislimit requires at least 5 s
		Logger:    opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	opts.About.Flags = nil // the flags of the processes may differ
	q, err := shared.Open(ctx, client, shared.Options{
		Crawl:  p.crawl,
		About:  opts.About,
		Limits: opts.Limits,
		Lease:  p.lease,
		Logger: opts.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return &keep.Kept{
		Queue: q,
		Store: store,
		Fleet: fleet,
		GoOn:  "the other processes continue the crawl; to resume it here, run the same command again",
		Complete: fmt.Sprintf("the crawl %q is complete; to crawl again, use another name with -crawl",
			p.crawl),
		Disconnect: func() {
			if err := fleet.Close(); err != nil {
				opts.Logger.Warn("politespider: the hosts of this process could not be released", "error", err)
			}
			client.Close()
			hasty.Close()
		},
	}, nil
}

// newClient returns a client for what the URL names: a server, sentinels (with
// ?master_name=…) or a cluster (with ?addr=…).
func newClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	bad := func(err error) error {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // drops the URL, which may contain a password
		}
		return fmt.Errorf("-redis: %w; example: redis://user:password@127.0.0.1:6379/0 (rediss for TLS)", err)
	}
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return nil, bad(err)
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, bad(errors.New("not a Redis URL"))
	}
	switch query := u.Query(); {
	case query.Has("master_name"):
		opts, err := redis.ParseFailoverURL(rawURL)
		if err != nil {
			return nil, bad(err)
		}
		opts.DialTimeout = timeout
		opts.ReadTimeout = timeout
		opts.WriteTimeout = timeout
		opts.ContextTimeoutEnabled = true
		opts.DisableIdentity = true
		opts.MaxRetries = -1
		return redis.NewFailoverClient(opts), nil
	case query.Has("addr"):
		opts, err := redis.ParseClusterURL(rawURL)
		if err != nil {
			return nil, bad(err)
		}
		opts.DialTimeout = timeout
		opts.ReadTimeout = timeout
		opts.WriteTimeout = timeout
		opts.ContextTimeoutEnabled = true
		opts.DisableIdentity = true
		return redis.NewClusterClient(opts), nil
	}
	opts, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, bad(err)
	}
	opts.DialTimeout = timeout
	opts.ReadTimeout = timeout
	opts.WriteTimeout = timeout
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	opts.MaxRetries = -1
	return redis.NewClient(opts), nil
}
