package keep

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/politeness/redislimit"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
)

// openRedis opens a crawl that other processes may share.
func openRedis(ctx context.Context, rawURL, crawl string, lease time.Duration, opts Options) (*Kept, error) {
	redis.SetLogger(quiet{}) // no log is needed: the calls return the important errors
	client, err := redisClient(rawURL, 5*time.Second)
	if err != nil {
		return nil, err
	}
	// The store and the fleet share the client named hasty. They can go on
	// while Redis does not answer, so this client waits only briefly for Redis.
	hasty, err := redisClient(rawURL, 500*time.Millisecond)
	if err != nil {
		return nil, err
	}
	closeAll := func() { client.Close(); hasty.Close() }
	opts.About.Flags = nil // the flags of the processes may differ
	store, err := redisstore.New(hasty, "politespider:")
	if err != nil {
		closeAll()
		return nil, err
	}
	fleet, err := redislimit.New(hasty, redislimit.Options{
		Namespace: "politespider:" + crawl,
		Lease:     max(lease, 5*time.Second), // redislimit requires at least 5 s
		Logger:    opts.Logger,
	})
	if err != nil {
		closeAll()
		return nil, err
	}
	q, err := frontier.OpenRedis(ctx, client, frontier.RedisOptions{Crawl: crawl, About: opts.About, Max: opts.Max, Lease: lease, Logger: opts.Logger})
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("-redis %s: %w", redactURL(rawURL), err)
	}
	return &Kept{
		Queue:    q,
		Store:    store,
		Fleet:    fleet,
		GoOn:     "it goes on in its other processes, or when the same command is given again",
		Complete: fmt.Sprintf("the crawl %q is complete: to crawl again, give it another name with -crawl", crawl),
		disconnect: func() {
			if err := fleet.Close(); err != nil {
				opts.Logger.Warn("politespider: the hosts of this process are not given back", "error", err)
			}
			closeAll()
		},
	}, nil
}

// redisClient returns a client for what the URL names: a server, sentinels
// (with ?master_name=…) or a cluster (with ?addr=…).
func redisClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	bad := func(err error) error {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // drops the URL, which may contain a password
		}
		return fmt.Errorf("-redis: %w: write it as in redis://user:password@127.0.0.1:6379/0, with rediss for TLS", err)
	}
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return nil, bad(err)
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, bad(errors.New("that is no URL of a Redis"))
	}
	switch query := u.Query(); {
	case query.Has("master_name"):
		opts, err := redis.ParseFailoverURL(rawURL)
		if err != nil {
			return nil, bad(err)
		}
		opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = timeout, timeout, timeout
		opts.ContextTimeoutEnabled, opts.DisableIdentity, opts.MaxRetries = true, true, -1
		return redis.NewFailoverClient(opts), nil
	case query.Has("addr"):
		opts, err := redis.ParseClusterURL(rawURL)
		if err != nil {
			return nil, bad(err)
		}
		opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = timeout, timeout, timeout
		opts.ContextTimeoutEnabled, opts.DisableIdentity = true, true
		return redis.NewClusterClient(opts), nil
	}
	opts, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, bad(err)
	}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = timeout, timeout, timeout
	opts.ContextTimeoutEnabled, opts.DisableIdentity, opts.MaxRetries = true, true, -1
	return redis.NewClient(opts), nil
}

func redactURL(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "URL"
	}
	u.RawQuery = "" // the query may contain a password, too
	return u.Redacted()
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
