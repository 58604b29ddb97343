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

// A redisCrawl is a crawl in Redis. It implements tool.Sharing.
type redisCrawl struct {
	url   string
	crawl string        // the crawl's name in Redis
	lease time.Duration // how long a process may be silent before others take over its pages
}

// Define defines the flags that identify the crawl.
func (c *redisCrawl) Define(flags *flag.FlagSet) {
	flags.StringVar(&c.url, "redis", "",
		"share the crawl with other processes through the Redis or Valkey at this `URL`,\n"+
			"as in redis://user:password@127.0.0.1:6379/0; rediss for TLS; required")
	flags.StringVar(&c.crawl, "crawl", "crawl",
		"`name` of the crawl; the name of a complete crawl cannot be reused")
	flags.DurationVar(&c.lease, "lease", 15*time.Second,
		"`time` that a process may be silent before others take over its pages")
}

// Check returns an error if a flag has a bad value. It does not connect to
// Redis.
func (c *redisCrawl) Check() error {
	switch {
	case c.url == "":
		return errors.New("-redis is required: the URL of the Redis server that " +
			"the processes of the crawl share")
	case c.crawl == "" || strings.ContainsAny(c.crawl, `{}*?[]\ `):
		return fmt.Errorf("-crawl %q: must be a name without spaces, braces, brackets, *, ? and \\", c.crawl)
	case c.lease < time.Second:
		return fmt.Errorf("-lease %v: must be at least 1s", c.lease)
	}
	client, err := newClient(c.url, time.Second)
	if err != nil {
		return err
	}
	return client.Close() // the client never connected
}

// Open joins the crawl, or begins it.
func (c *redisCrawl) Open(ctx context.Context, opts keep.Options) (*keep.Kept, error) {
	logging.Disable() // no log is needed: the calls return the important errors
	client, err := newClient(c.url, 5*time.Second)
	if err != nil {
		return nil, err
	}
	// The store and the fleet can continue while Redis does not respond, so
	// they share a client that waits only briefly for Redis.
	briefClient, err := newClient(c.url, 500*time.Millisecond)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	kept, err := c.open(ctx, client, briefClient, opts)
	if err != nil {
		return nil, errors.Join(err, client.Close(), briefClient.Close())
	}
	return kept, nil
}

// open is Open with two clients, which Disconnect of the result closes.
func (c *redisCrawl) open(
	ctx context.Context,
	client, briefClient redis.UniversalClient,
	opts keep.Options,
) (*keep.Kept, error) {
	store, err := redisstore.New(briefClient, "politespider:")
	if err != nil {
		return nil, err
	}
	fleet, err := redislimit.New(briefClient, redislimit.Options{
		Namespace: "politespider:" + c.crawl,
		Lease:     max(c.lease, 5*time.Second), // redislimit requires at least 5 s
		Logger:    opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	opts.About.Flags = nil // the flags of the processes may differ
	q, err := shared.Open(ctx, client, shared.Options{
		Crawl:  c.crawl,
		About:  opts.About,
		Limits: opts.Limits,
		Lease:  c.lease,
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
			c.crawl),
		Disconnect: func() {
			if err := fleet.Close(); err != nil {
				opts.Logger.Warn("politespider: the hosts of this process could not be released", "error", err)
			}
			client.Close()
			briefClient.Close()
		},
	}, nil
}

// newClient returns a client for the servers in the URL: one server, sentinels
// (with ?master_name=…) or a cluster (with ?addr=…).
func newClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	client, err := parseClient(rawURL, timeout)
	if err == nil {
		return client, nil
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // drops the URL, which may contain a password
	}
	const format = "-redis: %w; example: redis://user:password@127.0.0.1:6379/0 (rediss for TLS)"
	return nil, fmt.Errorf(format, err)
}

// parseClient is newClient without the example in the error.
func parseClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "redis", "rediss", "unix":
	default:
		return nil, errors.New("not a Redis URL")
	}
	switch query := u.Query(); {
	case query.Has("master_name"):
		return newFailoverClient(rawURL, timeout)
	case query.Has("addr"):
		return newClusterClient(rawURL, timeout)
	}
	opts, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	opts.DialTimeout = timeout
	opts.ReadTimeout = timeout
	opts.WriteTimeout = timeout
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	opts.MaxRetries = -1
	return redis.NewClient(opts), nil
}

func newFailoverClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	opts, err := redis.ParseFailoverURL(rawURL)
	if err != nil {
		return nil, err
	}
	opts.DialTimeout = timeout
	opts.ReadTimeout = timeout
	opts.WriteTimeout = timeout
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	opts.MaxRetries = -1
	return redis.NewFailoverClient(opts), nil
}

func newClusterClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	opts, err := redis.ParseClusterURL(rawURL)
	if err != nil {
		return nil, err
	}
	opts.DialTimeout = timeout
	opts.ReadTimeout = timeout
	opts.WriteTimeout = timeout
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	return redis.NewClusterClient(opts), nil
}
