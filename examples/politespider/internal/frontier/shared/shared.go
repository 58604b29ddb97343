// Package shared is a frontier in Redis or Valkey for any number of processes.
// If one of them dies, the others take over its pages.
package shared

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// A Queue is a frontier in Redis or Valkey that any number of processes share.
// Open makes a Queue. It is safe for concurrent use.
//
// Each host has a stream. The crawl has one consumer group, and each process is
// a consumer in this group. A page that is handed out is a pending entry of its
// process. Until the page is given back, no process gets another page of that
// host. Each process extends the leases of its pages every few seconds. If a
// process is silent for the length of a lease, other processes claim its pages
// when they ask for a page. So a page is fetched twice only in two cases: if a
// process was killed before it gave the page back, or if it was cut off from
// Redis for the length of a lease while it had the page.
//
// The process that had a host's latest page may take the host's next page one
// second before the other processes. Usually this process also owns the host in
// package redislimit, so hosts seldom move between processes. If the process is
// dead or busy with other hosts, another process takes the page one second
// later.
//
// While Redis does not answer, every call waits for it. If Redis comes back
// without the data of the crawl, the crawl ends with an error.
//
// In Redis, an ACL user needs only these rights:
//
//	+eval +evalsha +time +exists +del +pexpire
//	+hget +hmget +hset +hsetnx +hdel +hincrby
//	+sadd +zadd +zrem +zrange +zrangebyscore +zscore +zcard
//	+xgroup|create +xadd +xreadgroup +xrevrange +xautoclaim +xclaim +xpending
//	+xack +xdel +xlen
//	~{politespider:*
type Queue struct {
	client redis.Scripter // only scripts are run
	Options
	epoch string
	me    string // this process's name as a consumer of the group

	ctx     context.Context // outlasts Open's context by grace, so that pages can be given back
	cancel  context.CancelFunc
	beating sync.WaitGroup
	turn    chan struct{} // holds a value while a caller asks Redis for a page
	wake    chan struct{} // holds a value when there may be a page now

	mu    sync.Mutex
	held  map[string]*frontier.Page // the pages that this process has, by entry and host
	state frontier.State
	away  time.Time // when Redis stopped answering; zero if it answers
}

// Options are the options of a frontier in Redis.
type Options struct {
	Crawl  string         // the crawl's name: processes that use the same name share a crawl
	About  frontier.About // what is crawled: the same for all processes
	Limits frontier.Limits
	Lease  time.Duration // how long a process may be silent before it counts as dead
	Logger *slog.Logger  // logs when Redis stops answering, and when it answers again
}

const (
	grace     = 3 * time.Second        // how long pages can be given back after the crawl was stopped
	poll      = 100 * time.Millisecond // how often a waiting process asks Redis for a page
	keepOver  = 24 * time.Hour         // how long Redis remembers that a crawl is over
	batchSize = 500                    // maximum number of pages that one call adds

	minPause, maxPause = 50 * time.Millisecond, 2 * time.Second // the first and the longest pause before a retry if Redis does not answer
)

var (
	//go:embed lua/join.lua
	join string
	//go:embed lua/crawl.lua
	crawl string
	//go:embed lua/add.lua
	add string
	//go:embed lua/take.lua
	take string
	//go:embed lua/give.lua
	give string
	//go:embed lua/beat.lua
	beat string
	//go:embed lua/ended.lua
	ended string

	joinScript  = redis.NewScript(join)
	addScript   = redis.NewScript(crawl + add)
	takeScript  = redis.NewScript(crawl + take)
	giveScript  = redis.NewScript(crawl + give)
	beatScript  = redis.NewScript(crawl + beat)
	endedScript = redis.NewScript(crawl + ended)
)

// Open joins the crawl named opts.Crawl, or begins it. For three seconds
// after the end of the context, pages can be given back. Close does not close
// the client.
func Open(ctx context.Context, client redis.Scripter, opts Options) (*Queue, error) {
	r := &Queue{
		client:  client,
		Options: opts,
		me:      rand.Text(),
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		held:    make(map[string]*frontier.Page),
	}
	about, err := json.Marshal(opts.About)
	if err != nil {
		return nil, err
	}
	joined, err := joinScript.Run(ctx, client, r.keys()[:1], rand.Text(), about).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("join the crawl %q in Redis: %w", opts.Crawl, err)
	}
	r.epoch = joined[0]
	var kept frontier.About
	if err := json.Unmarshal([]byte(joined[1]), &kept); err != nil {
		return nil, fmt.Errorf("the crawl %q in Redis is of another version of this program: name another crawl: %w", opts.Crawl, err)
	}
	if err := opts.About.Check(fmt.Sprintf("Redis under the name %q", opts.Crawl), kept); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.beating.Go(r.beat)
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, r.cancel) })
	return r, nil
}

// keys returns the keys of the crawl, except those of the hosts' streams. The
// braces in the names put all keys on one node of a cluster.
func (r *Queue) keys() []string {
	prefix := r.prefix()
	return []string{prefix + "meta", prefix + "seen", prefix + "due", prefix + "held", prefix + "mine:" + r.me, prefix + "refused", prefix + "ended"}
}

func (r *Queue) prefix() string { return "{politespider:" + r.Crawl + "}:" }

// Add is like [frontier.Queue.Add]. Redis remembers a URL by the first 16
// bytes of its SHA-256.
func (r *Queue) Add(pages ...*frontier.Page) int {
	fresh := 0
	for batch := range slices.Chunk(pages, batchSize) {
		var args []any
		for _, p := range batch {
			hash := sha256.Sum256([]byte(p.URL))
			args = append(args, hash[:16], p.Host, written(p))
		}
		if reply, ok := r.call(addScript, args...); ok {
			fresh += int(reply[0].(int64))
		}
	}
	if fresh > 0 {
		r.hurry()
	}
	return fresh
}

// Take is like [frontier.Queue.Take]. The crawl is not over while any process
// has a page that it has not given back.
func (r *Queue) Take(ctx context.Context) (*frontier.Page, bool) {
	select {
	case <-ctx.Done():
		return nil, false
	case r.turn <- struct{}{}:
	}
	defer func() { <-r.turn }()
	for ctx.Err() == nil {
		reply, ok := r.call(takeScript, r.Limits.Pages, r.Lease.Milliseconds(), keepOver.Milliseconds(), r.Limits.Refused)
		if !ok {
			return nil, false
		}
		switch reply[0] {
		case "over":
			return nil, false
		case "page":
			p, err := pageOf(reply[1:])
			if err != nil {
				r.fail(err)
				return nil, false
			}
			if r.hold(p) {
				return p, true
			}
			continue
		}
		wait := poll
		if d := time.Duration(reply[1].(int64)) * time.Millisecond; d >= 0 {
			r.mu.Lock()
			r.state.Next, r.state.Wait = reply[2].(string), d
			r.mu.Unlock()
			wait = min(wait, d)
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-time.After(wait):
		}
	}
	return nil, false
}

func written(p *frontier.Page) []byte {
	text, _ := json.Marshal(p) // JSON can hold all values of a page
	return text
}

// pageOf returns the page in a reply. The reply holds the host, the ID of the
// page's entry in the stream, and the page as stored.
func pageOf(reply []any) (*frontier.Page, error) {
	p := new(frontier.Page)
	if err := json.Unmarshal([]byte(reply[2].(string)), p); err != nil {
		return nil, fmt.Errorf("read a page of the crawl in Redis: %w", err)
	}
	if err := p.SetHost(); err != nil {
		return nil, err
	}
	p.ID, p.Ready, p.Due = reply[1].(string), time.Now(), time.Time{}
	return p, nil
}

// hold() remembers that this process has a page. It returns false if the
// process has the page already: if a process was silent for the length of a
// lease, Redis may hand its page out again, even to the same process.
func (r *Queue) hold(p *frontier.Page) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := p.ID + " " + p.Host
	if r.held[key] != nil {
		return false
	}
	r.held[key] = p
	return true
}

// Done is like [frontier.Queue.Done]. If another process has taken over the
// page, Done has no effect on the page.
func (r *Queue) Done(p *frontier.Page, asked time.Time, interval time.Duration) {
	r.give(p, "done", time.Until(asked.Add(interval)))
}

// Refuse is like [frontier.Queue.Refuse]. The refused pages of all processes
// count together. If the processes have different limits, each of them obeys
// its own.
func (r *Queue) Refuse(p *frontier.Page, asked time.Time, interval time.Duration) {
	r.give(p, "refused", time.Until(asked.Add(interval)))
}

// Refund is like [frontier.Queue.Refund].
func (r *Queue) Refund(p *frontier.Page) { r.give(p, "refund", 0) }

// PutBack is like [frontier.Queue.PutBack].
func (r *Queue) PutBack(p *frontier.Page, until time.Time) { r.give(p, "putback", time.Until(until)) }

// give() gives a page back, and lets its host rest.
func (r *Queue) give(p *frontier.Page, fate string, rest time.Duration) {
	r.call(giveScript, p.Host, p.ID, fate, max(rest, 0).Milliseconds()+2, written(p), max(time.Until(p.Due), 0).Milliseconds(), p.Puts)
	r.mu.Lock()
	delete(r.held, p.ID+" "+p.Host)
	r.mu.Unlock()
	r.hurry()
}

// hurry() makes a waiting Take ask Redis at once.
func (r *Queue) hurry() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// State returns the state of the crawl at the latest answer of Redis.
func (r *Queue) State() frontier.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Ended is like [frontier.Queue.Ended]. It returns nil if Redis does not
// answer.
func (r *Queue) Ended() map[string]int {
	if r.Limits.Refused == 0 {
		return nil
	}
	reply, ok := r.call(endedScript, r.Limits.Refused)
	if !ok {
		return nil
	}
	hosts := make(map[string]int)
	for pair := range slices.Chunk(reply[0].([]any), 2) {
		hosts[pair[0].(string)] = int(pair[1].(int64))
	}
	return hosts
}

// Close stops the heartbeat. If pages are still out, other processes take them
// over when their leases expire.
func (r *Queue) Close() error {
	r.cancel()
	r.beating.Wait()
	return nil
}

// beat() extends the leases of the pages that this process holds. It returns
// when r.ctx ends.
func (r *Queue) beat() {
	ticker := time.NewTicker(r.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-ticker.C:
			args := []any{r.Lease.Milliseconds()}
			r.mu.Lock()
			for _, p := range r.held {
				args = append(args, p.Host, p.ID)
			}
			r.mu.Unlock()
			if len(args) > 1 {
				r.call(beatScript, args...)
			}
		}
	}
}

// call() runs a script and retries until Redis answers. The answer begins with
// the state of the crawl. call() returns the rest of the answer, and true. If
// the crawl has ended or cannot go on, call() returns false. If only the answer
// was lost, the retry runs the script a second time, which must do no harm.
func (r *Queue) call(script *redis.Script, args ...any) (reply []any, ok bool) {
	args = append([]any{r.epoch, r.prefix() + "host:", r.me}, args...)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		if r.State().Err != nil {
			return nil, false
		}
		reply, err := script.Run(r.ctx, r.client, r.keys(), args...).Slice()
		switch {
		case err == nil:
			r.answered(reply)
			return reply[5:], true
		case r.ctx.Err() != nil:
			return nil, false
		case isFinal(err):
			r.fail(err)
			return nil, false
		}
		r.unanswered(err)
		select {
		case <-r.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// answered notes the state of the crawl, with which a reply begins.
func (r *Queue) answered(reply []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = frontier.State{Queued: int(reply[0].(int64)), Out: int(reply[1].(int64)), Spent: int(reply[2].(int64)), Hosts: int(reply[3].(int64)), Free: int(reply[4].(int64)), Err: r.state.Err}
	if !r.away.IsZero() && r.state.Err == nil {
		r.Logger.Warn("Redis answers again: the crawl goes on", "after", time.Since(r.away).Round(time.Millisecond))
		r.away = time.Time{}
	}
}

func (r *Queue) unanswered(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away.IsZero() {
		r.away = time.Now()
		r.Logger.Warn("Redis does not answer: the crawl waits for it", "error", err)
	}
}

func (r *Queue) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Err == nil {
		if redis.HasErrorPrefix(err, "LOST") {
			err = errors.New("it was flushed, or came back without what it knew: begin the crawl anew")
		}
		r.state.Err = fmt.Errorf("the crawl %q in Redis: %w", r.Crawl, err)
	}
}

// passing are words in errors of Redis that a retry may not meet again.
var passing = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "OOM", "BUSY", "max number of clients"}

// isFinal reports whether Redis has answered with an error that a retry would
// not change. Up to Redis 6.2, an error from a script does not begin with the
// error's name.
func isFinal(err error) bool {
	_, answered := errors.AsType[redis.Error](err)
	return answered && !slices.ContainsFunc(passing, func(name string) bool { return strings.Contains(err.Error(), name) })
}
