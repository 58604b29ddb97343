package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
)

// keeping says where the state of a crawl is kept: in memory alone, in a directory, or in Redis.
type keeping struct {
	dir      string // "": in none
	redisURL string // "": in none
	crawl    string // its name in Redis
	lease    time.Duration
}

// kept is where it is.
type kept struct {
	queue
	store    robotsmw.Store
	pace     politeness.Backend // nil: of this process alone
	goOn     string             // how a crawl that was stopped goes on; "": not at all
	complete string             // what to do if there is nothing left to do
	close    func()
}

func (k keeping) check() error {
	switch {
	case k.dir != "" && k.redisURL != "":
		return errors.New("-resume and -redis: a crawl is kept in one place: leave one of them out")
	case k.redisURL != "" && (k.crawl == "" || strings.ContainsAny(k.crawl, `{}*?[]\ `)):
		return fmt.Errorf("-crawl %q: write a name without spaces, braces, brackets, *, ? and \\", k.crawl)
	case k.lease < time.Second:
		return fmt.Errorf("-lease %v: write a time of a second or more", k.lease)
	case k.redisURL != "":
		client, err := redisClient(k.redisURL, time.Second)
		if err != nil {
			return err
		}
		return client.Close() // it has not connected yet
	}
	return nil
}

// notRecalled are the flags that are of a run, not of its crawl.
var notRecalled = []string{"resume", "redis", "crawl", "lease", "json", "report"}

// aboutFlags is a crawl that was called with these flags.
func aboutFlags(flags *flag.FlagSet) frontier.About {
	a := frontier.About{Flags: make(map[string][]string)}
	flags.Visit(func(f *flag.Flag) {
		if !slices.Contains(notRecalled, f.Name) {
			a.Flags[f.Name] = valuesOf(f.Value)
		}
	})
	return a
}

// repeated is a flag that may be given several times.
type repeated struct {
	values []string
	add    func(value string) error
}

func (r *repeated) String() string { return strings.Join(r.values, " ") }

// Set is of flag.Value.
func (r *repeated) Set(value string) error {
	r.values = append(r.values, value)
	return r.add(value)
}

// valuesOf are those that make the flag what it is when it is set to each in turn.
func valuesOf(v flag.Value) []string {
	if r, ok := v.(*repeated); ok {
		return r.values
	}
	return []string{v.String()}
}

// recall returns the URLs to begin with. If a crawl is to go on, what the command line does not say is as it was when it
// began.
func (k keeping) recall(flags *flag.FlagSet) ([]string, error) {
	if k.dir == "" {
		return flags.Args(), nil
	}
	was, err := frontier.ReadAbout(k.dir)
	if err != nil {
		return nil, fmt.Errorf("-resume %s: %w", k.dir, err)
	}
	if was == nil {
		return flags.Args(), nil
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, values := range was.Flags {
		for _, value := range values {
			if given[name] {
				continue
			}
			if err := flags.Set(name, value); err != nil {
				return nil, fmt.Errorf("-resume %s: the crawl there began with -%s %s: %w", k.dir, name, value, err)
			}
		}
	}
	if flags.NArg() == 0 {
		return was.Start, nil
	}
	return flags.Args(), nil
}

// open opens the frontier and the store of robots.txt records.
func (k keeping) open(ctx context.Context, cfg config, about frontier.About) (*kept, error) {
	switch {
	case k.dir != "":
		return k.openDirectory(cfg, about)
	case k.redisURL != "":
		return k.openRedis(ctx, cfg, about)
	}
	return &kept{queue: frontier.NewMemory(cfg.maxPages), close: func() {}}, nil
}

func (k keeping) openDirectory(cfg config, about frontier.About) (*kept, error) {
	store, err := diskstore.Open(filepath.Join(k.dir, "robots"))
	if err != nil {
		return nil, fmt.Errorf("-resume %s: %w", k.dir, err)
	}
	q, err := frontier.OpenDirectory(k.dir, about, cfg.maxPages, cfg.delay, cfg.logger)
	if err != nil {
		return nil, fmt.Errorf("-resume %s: %w", k.dir, err)
	}
	return &kept{
		queue:    q,
		store:    struct{ robotsmw.Store }{store}, // without its locks: nobody else is here, but one that was killed may have left some
		goOn:     "it goes on with: politespider -resume " + shellWord(k.dir),
		complete: "the crawl in " + k.dir + " is complete: to crawl again, name another directory",
		close:    func() {},
	}, nil
}

func (k keeping) openRedis(ctx context.Context, cfg config, about frontier.About) (*kept, error) {
	redis.SetLogger(quiet{}) // what matters comes back as an error
	client, err := redisClient(k.redisURL, 5*time.Second)
	if err != nil {
		return nil, err
	}
	// robots.txt is fetched, and the pace kept, without Redis too, so neither waits for it for long.
	hasty, err := redisClient(k.redisURL, 500*time.Millisecond)
	if err != nil {
		return nil, err
	}
	closeAll := func() { client.Close(); hasty.Close() }
	about.Flags = nil // each process has its own
	store, err := redisstore.New(hasty, "politespider:")
	if err != nil {
		closeAll()
		return nil, err
	}
	pace, err := redislimit.New(hasty, redislimit.Options{Namespace: "politespider:" + k.crawl, Logger: cfg.logger})
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("-crawl %q: %w", k.crawl, err)
	}
	q, err := frontier.OpenRedis(ctx, client, frontier.RedisOptions{Crawl: k.crawl, About: about, Max: cfg.maxPages, Lease: k.lease, Logger: cfg.logger})
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("-redis %s: %w", redactURL(k.redisURL), err)
	}
	return &kept{
		queue:    q,
		store:    store,
		pace:     pace,
		goOn:     "it goes on in its other processes, or when the same command is given again",
		complete: fmt.Sprintf("the crawl %q is complete: to crawl again, give it another name with -crawl", k.crawl),
		close:    closeAll,
	}, nil
}

// redisClient is a client of the server, the sentinels (?master_name=…) or the cluster (?addr=…) that the URL names.
func redisClient(rawURL string, timeout time.Duration) (redis.UniversalClient, error) {
	bad := func(err error) error {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may have a password
		}
		return fmt.Errorf("-redis: %w: write it as in redis://user:password@127.0.0.1:6379/0, with rediss for TLS", err)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, bad(err)
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

// redactURL is the URL without its password.
func redactURL(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "URL"
	}
	u.RawQuery = "" // may have one, too
	return u.Redacted()
}

// quiet is a logger of go-redis that says nothing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// shellWord is a word as it can be pasted into a shell.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
