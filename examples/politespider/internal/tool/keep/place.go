// Package keep stores what outlives a process: the state of a crawl in a
// [Place], and the fetched pages in [Pages].
package keep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// A Place says where the state of a crawl is kept: in a directory, in Redis, or
// in memory alone.
type Place struct {
	Dir      string // "" means not in a directory
	RedisURL string // "" means not in Redis
	Crawl    string // the crawl's name in Redis
	Lease    time.Duration
}

// Check returns an error if the fields do not describe a usable place. It does
// not connect to Redis.
func (p Place) Check() error {
	switch {
	case p.Dir != "" && p.RedisURL != "":
		return errors.New("-resume and -redis: a crawl is kept in one place: leave one of them out")
	case p.RedisURL != "" && (p.Crawl == "" || strings.ContainsAny(p.Crawl, `{}*?[]\ `)):
		return fmt.Errorf("-crawl %q: write a name without spaces, braces, brackets, *, ? and \\", p.Crawl)
	case p.Lease < time.Second:
		return fmt.Errorf("-lease %v: write a time of a second or more", p.Lease)
	case p.RedisURL != "":
		client, err := redisClient(p.RedisURL, time.Second)
		if err != nil {
			return err
		}
		return client.Close() // the client never connected
	}
	return nil
}

// Open opens the state of the crawl.
func (p Place) Open(ctx context.Context, opts Options) (*Kept, error) {
	switch {
	case p.Dir != "":
		return openDirectory(p.Dir, opts)
	case p.RedisURL != "":
		return openRedis(ctx, p.RedisURL, p.Crawl, p.Lease, opts)
	}
	return &Kept{Queue: frontier.NewMemory(opts.Max)}, nil
}
