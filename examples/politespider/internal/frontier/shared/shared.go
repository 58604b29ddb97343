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
// when they call Take. Therefore a page is fetched twice only if a process was
// killed before it gave the page back, or was cut off from Redis for the length
// of a lease while it had the page.
//
// The process that had a host's latest page may take the host's next page one
// second before the other processes. Usually this process also owns the host in
// package redislimit, so hosts seldom move between processes. If the process is
// dead or busy with other hosts, another process takes the page one second
// later.
//
// While Redis is unreachable, every call waits for it. If Redis is reachable
// again but has lost the data of the crawl, the crawl ends with an error.
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
	epoch    string
	memberID string // this process's name as a consumer of the group

	ctx        context.Context // outlasts Open's context by gracePeriod, so that pages can be put back
	cancel     context.CancelFunc
	heartbeats sync.WaitGroup
	sem        chan struct{} // contains a value while a call of Take requests pages
	wakeup     chan struct{} // contains a value if a page may have become available

	mu               sync.Mutex
	leased           map[string]*frontier.Page // the pages that this process has, by leaseKey
	state            frontier.State
	unreachableSince time.Time // zero while Redis responds
}

// Options are the options of a frontier in Redis.
type Options struct {
	Crawl  string         // the crawl's name: processes that use the same name share a crawl
	About  frontier.About // what is crawled: the same for all processes
	Limits frontier.Limits
	Lease  time.Duration // how long a process may be silent before it counts as dead
	Logger *slog.Logger  // logs when Redis becomes unreachable, and when it is reachable again
}

const (
	gracePeriod  = 3 * time.Second        // how long pages can be put back after the crawl was stopped
	pollInterval = 100 * time.Millisecond // how often a waiting process requests a page
	overLifetime = 24 * time.Hour         // how long Redis remembers that a crawl is over
	batchSize    = 500                    // maximum number of pages that one call adds

	// minPause and maxPause are the first and the longest pause before a retry
	// while Redis is unreachable.
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
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
	//go:embed lua/heartbeat.lua
	heartbeat string
	//go:embed lua/ended.lua
	ended string

	joinScript      = redis.NewScript(join)
	addScript       = redis.NewScript(crawl + add)
	takeScript      = redis.NewScript(crawl + take)
	giveScript      = redis.NewScript(crawl + give)
	heartbeatScript = redis.NewScript(crawl + heartbeat)
	endedScript     = redis.NewScript(crawl + ended)
)

// Open joins the crawl named opts.Crawl, or begins it. Pages can be put back
// until the grace period after ctx ends. Close does not close the client.
func Open(ctx context.Context, client redis.Scripter, opts Options) (*Queue, error) {
	q := &Queue{
		client:   client,
		Options:  opts,
		memberID: rand.Text(),
		sem:      make(chan struct{}, 1),
		wakeup:   make(chan struct{}, 1),
		leased:   make(map[string]*frontier.Page),
	}
	about, err := json.Marshal(opts.About)
	if err != nil {
		return nil, err
	}
	joined, err := joinScript.Run(ctx, client, q.keys()[:1], rand.Text(), about).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("join the crawl %q in Redis: %w", opts.Crawl, err)
	}
	q.epoch = joined[0]
	var existing frontier.About
	if err := json.Unmarshal([]byte(joined[1]), &existing); err != nil {
		const format = "the crawl %q in Redis was created by another version of this program; " +
			"use another crawl name: %w"
		return nil, fmt.Errorf(format, opts.Crawl, err)
	}
	if err := opts.About.Check(fmt.Sprintf("Redis under the name %q", opts.Crawl), existing); err != nil {
		return nil, err
	}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	q.heartbeats.Go(q.heartbeat)
	context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, q.cancel) })
	return q, nil
}

// keys returns the keys of the crawl, except those of the hosts' streams. The
// braces in the names put all keys on one node of a cluster.
func (q *Queue) keys() []string {
	prefix := q.prefix()
	return []string{
		prefix + "meta",
		prefix + "seen",
		prefix + "due",
		prefix + "held",
		prefix + "mine:" + q.memberID,
		prefix + "refused",
		prefix + "ended",
	}
}

// prefix is the beginning of the names of the crawl's keys.
func (q *Queue) prefix() string { return "{politespider:" + q.Crawl + "}:" }

// Add is like [frontier.Queue.Add]. Redis remembers a URL by the first 16
// bytes of its SHA-256.
func (q *Queue) Add(pages ...*frontier.Page) int {
	fresh := 0
	for batch := range slices.Chunk(pages, batchSize) {
		var args []any
		for _, p := range batch {
			hash := sha256.Sum256([]byte(p.URL))
			args = append(args, hash[:16], p.Host, encode(p))
		}
		if reply, ok := q.call(addScript, args...); ok {
			fresh += int(reply[0].(int64))
		}
	}
	if fresh > 0 {
		q.wakeTake()
	}
	return fresh
}

// Take is like [frontier.Queue.Take]. The crawl is not over while any process
// has a page that it has not given back.
func (q *Queue) Take(ctx context.Context) (*frontier.Page, bool) {
	select {
	case <-ctx.Done():
		return nil, false
	case q.sem <- struct{}{}:
	}
	defer func() { <-q.sem }()
	for ctx.Err() == nil {
		args := []any{q.Limits.Pages, q.Lease.Milliseconds(), overLifetime.Milliseconds(), q.Limits.Refused}
		reply, ok := q.call(takeScript, args...)
		if !ok {
			return nil, false
		}
		switch reply[0] {
		case "over":
			return nil, false
		case "page":
			p, err := parsePage(reply[1:])
			if err != nil {
				q.fail(err)
				return nil, false
			}
			if q.addLease(p) {
				return p, true
			}
		default:
			q.wait(ctx, reply[1:])
		}
	}
	return nil, false
}

// wait waits until Take should request a page again. The reply contains how
// many milliseconds remain until a host is due, or -1 if no host will be due,
// and the host.
func (q *Queue) wait(ctx context.Context, reply []any) {
	interval := pollInterval
	if untilDue := time.Duration(reply[0].(int64)) * time.Millisecond; untilDue >= 0 {
		q.mu.Lock()
		q.state.Next = reply[1].(string)
		q.state.Wait = untilDue
		q.mu.Unlock()
		interval = min(interval, untilDue)
	}
	select {
	case <-ctx.Done():
	case <-q.wakeup:
	case <-time.After(interval):
	}
}

// encode returns the form in which a page is stored.
func encode(p *frontier.Page) []byte {
	text, _ := json.Marshal(p) // JSON can hold all values of a page
	return text
}

// parsePage returns the page in a reply. The reply contains the host, the ID of
// the page's entry in the stream, and the page as stored.
func parsePage(reply []any) (*frontier.Page, error) {
	p := new(frontier.Page)
	if err := json.Unmarshal([]byte(reply[2].(string)), p); err != nil {
		return nil, fmt.Errorf("read a page of the crawl in Redis: %w", err)
	}
	if err := p.SetHost(); err != nil {
		return nil, err
	}
	p.ID = reply[1].(string)
	p.Ready = time.Now()
	p.Due = time.Time{}
	return p, nil
}

// addLease adds a page to the pages that this process has. It returns false if
// the process has the page already: if a process was silent for the length of a
// lease, Redis may hand its page out again, even to the same process.
func (q *Queue) addLease(p *frontier.Page) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := leaseKey(p)
	if q.leased[key] != nil {
		return false
	}
	q.leased[key] = p
	return true
}

// leaseKey returns the key of a page in Queue.leased.
func leaseKey(p *frontier.Page) string { return p.ID + " " + p.Host }

// Done is like [frontier.Queue.Done]. If another process has taken over the
// page, Done has no effect on the page.
func (q *Queue) Done(p *frontier.Page, lastRequest time.Time, interval time.Duration) {
	q.giveBack(p, "done", time.Until(lastRequest.Add(interval)))
}

// Refuse is like [frontier.Queue.Refuse]. The refused pages of all processes
// count together. If the processes have different limits, each of them obeys
// its own.
func (q *Queue) Refuse(p *frontier.Page, lastRequest time.Time, interval time.Duration) {
	q.giveBack(p, "refused", time.Until(lastRequest.Add(interval)))
}

// Refund is like [frontier.Queue.Refund].
func (q *Queue) Refund(p *frontier.Page) { q.giveBack(p, "refund", 0) }

// PutBack is like [frontier.Queue.PutBack].
func (q *Queue) PutBack(p *frontier.Page, until time.Time) {
	q.giveBack(p, "putback", time.Until(until))
}

// giveBack gives a page back. No process gets another page of its host before
// the pause is over.
func (q *Queue) giveBack(p *frontier.Page, outcome string, pause time.Duration) {
	hostPause := max(pause, 0).Milliseconds() + 2
	pagePause := max(time.Until(p.Due), 0).Milliseconds()
	q.call(giveScript, p.Host, p.ID, outcome, hostPause, encode(p), pagePause, p.Puts)
	q.mu.Lock()
	delete(q.leased, leaseKey(p))
	q.mu.Unlock()
	q.wakeTake()
}

// wakeTake makes a waiting Take request a page immediately.
func (q *Queue) wakeTake() {
	select {
	case q.wakeup <- struct{}{}:
	default:
	}
}

// State returns the state of the crawl in the latest reply of Redis.
func (q *Queue) State() frontier.State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state
}

// Ended is like [frontier.Queue.Ended]. Because the crawl is over, Ended waits
// for Redis for at most the grace period. If Redis is unreachable for longer,
// Ended returns nil, and the Queue has ended.
func (q *Queue) Ended() map[string]int {
	if q.Limits.Refused == 0 {
		return nil
	}
	defer time.AfterFunc(gracePeriod, q.cancel).Stop()
	reply, ok := q.call(endedScript, q.Limits.Refused)
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
func (q *Queue) Close() error {
	q.cancel()
	q.heartbeats.Wait()
	return nil
}

// heartbeat extends the leases of the pages that this process has. It returns
// when q.ctx ends.
func (q *Queue) heartbeat() {
	ticker := time.NewTicker(q.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-q.ctx.Done():
			return
		case <-ticker.C:
			q.extendLeases()
		}
	}
}

// extendLeases extends the leases of the pages that this process has.
func (q *Queue) extendLeases() {
	args := []any{q.Lease.Milliseconds()}
	q.mu.Lock()
	for _, p := range q.leased {
		args = append(args, p.Host, p.ID)
	}
	q.mu.Unlock()
	if len(args) > 1 {
		q.call(heartbeatScript, args...)
	}
}

// call runs a script and retries until Redis responds. The reply begins with
// the state of the crawl. call returns the rest of the reply, and true. If the
// crawl has ended or cannot continue, call returns false. If only the reply was
// lost, the retry runs the script a second time, so a second run must have no
// further effect.
func (q *Queue) call(script *redis.Script, args ...any) (reply []any, ok bool) {
	args = append([]any{q.epoch, q.prefix() + "host:", q.memberID}, args...)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		if q.State().Err != nil {
			return nil, false
		}
		reply, err := script.Run(q.ctx, q.client, q.keys(), args...).Slice()
		switch {
		case err == nil:
			q.markReachable(reply)
			return reply[5:], true
		case q.ctx.Err() != nil:
			return nil, false
		case isFinal(err):
			q.fail(err)
			return nil, false
		}
		q.markUnreachable(err)
		select {
		case <-q.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// markReachable stores the state of the crawl from the beginning of a reply.
func (q *Queue) markReachable(reply []any) {
	count := func(i int) int { return int(reply[i].(int64)) }
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = frontier.State{
		Queued: count(0),
		Out:    count(1),
		Spent:  count(2),
		Hosts:  count(3),
		Free:   count(4),
		Err:    q.state.Err,
	}
	if !q.unreachableSince.IsZero() && q.state.Err == nil {
		outage := time.Since(q.unreachableSince).Round(time.Millisecond)
		q.Logger.Warn("Redis is reachable again; resuming the crawl", "after", outage)
		q.unreachableSince = time.Time{}
	}
}

// markUnreachable logs that Redis does not respond, once for each outage.
func (q *Queue) markUnreachable(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unreachableSince.IsZero() {
		q.unreachableSince = time.Now()
		q.Logger.Warn("Redis is unreachable; the crawl is paused", "error", err)
	}
}

// fail ends the crawl with an error.
func (q *Queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state.Err == nil {
		if redis.HasErrorPrefix(err, "LOST") {
			err = errors.New("the data of the crawl is lost; start a new crawl")
		}
		q.state.Err = fmt.Errorf("the crawl %q in Redis: %w", q.Crawl, err)
	}
}

// transientErrors are parts of the errors of Redis after which a retry may
// succeed.
var transientErrors = []string{
	"LOADING",
	"READONLY",
	"MASTERDOWN",
	"CLUSTERDOWN",
	"TRYAGAIN",
	"NOREPLICAS",
	"MISCONF",
	"OOM",
	"BUSY",
	"max number of clients",
}

// isFinal reports whether Redis has responded with an error that a retry would
// not change. Up to Redis 6.2, an error from a script does not begin with the
// error's name.
func isFinal(err error) bool {
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return false
	}
	isTransient := func(name string) bool { return strings.Contains(err.Error(), name) }
	return !slices.ContainsFunc(transientErrors, isTransient)
}
