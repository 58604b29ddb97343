package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
)

// Options are the settings of a Fleet. The zero value is what most want.
type Options struct {
	// Namespace is what all keys and channels begin with, in braces:
	// {Namespace}. Fleets with different ones do not know of each other. It
	// must be free of braces, white space and the characters *?[]\ of key
	// patterns. "": "courtesy".
	Namespace string

	// Lease is how long a member that cannot reach Redis goes on with the hosts
	// that it owns. The hosts of a member that dies rest for up to two and a
	// half times as long. 0: 10 s. The least is 5 s.
	Lease time.Duration

	// Timeout is how long the answer to a call may take. It is no request's
	// wait: those go on meanwhile. 0: 1 s. At most a third of Lease.
	Timeout time.Duration

	// Logger hears when Redis is lost and when it is back, once each. It must
	// not call the Fleet. nil: slog.Default. (go-redis has a log of its own,
	// for connections that fail: see redis.SetLogger.)
	Logger *slog.Logger
}

// A Fleet is this process's membership in a fleet that meets in Redis or
// Valkey: a [politeness.Fleet] for one Limiter. It is safe for concurrent use.
// While its Limiter needs no host it holds nothing, and nothing runs.
type Fleet struct {
	engine         engine
	prefix         string // of the keys
	lease, timeout time.Duration
	log            *slog.Logger

	trust atomic.Pointer[time.Time] // when the renewal was sent that is the last to have succeeded; nil: no session
	hung  atomic.Int32              // calls that the client does not return from
	wake  chan struct{}             // holds one: the inbox has something

	mu      sync.Mutex // held for moments; the Limiter's may be held when it is taken, never the other way round
	holds   []*politeness.Hold
	hints   []hint
	running bool
	closed  bool
	done    chan struct{} // closed when what runs has ended

	member member // of the goroutine that runs
}

// New returns a member of the fleet that meets at client's Redis in
// opts.Namespace. It does not connect before the Limiter needs a host. It never
// closes the client.
func New(client redis.UniversalClient, opts Options) (*Fleet, error) {
	if client == nil {
		return nil, errors.New("redislimit: the client is nil: give a redis.NewUniversalClient(…)")
	}
	if opts.Namespace == "" {
		opts.Namespace = "courtesy"
	}
	if strings.ContainsAny(opts.Namespace, "{}*?[]\\ \t\r\n") {
		return nil, fmt.Errorf("redislimit: the Namespace %q has a brace, white space or a character of key patterns: leave it out", opts.Namespace)
	}
	prefix := "{" + opts.Namespace + "}"
	return newFleet(&server{client, []string{prefix + "fleet", prefix + "hosts"}}, prefix, opts)
}

func newFleet(e engine, prefix string, opts Options) (*Fleet, error) {
	if opts.Lease == 0 {
		opts.Lease = 10 * time.Second
	}
	if opts.Timeout == 0 {
		opts.Timeout = time.Second
	}
	if opts.Lease < 5*time.Second {
		return nil, fmt.Errorf("redislimit: the Lease is %v: give 5 s or more, or 0 for the default", opts.Lease)
	}
	if opts.Timeout < 0 || opts.Timeout > opts.Lease/3 {
		return nil, fmt.Errorf("redislimit: the Timeout is %v: give a positive duration up to a third of Lease (%v), or 0 for the default", opts.Timeout, opts.Lease)
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	f := &Fleet{engine: e, prefix: prefix, lease: opts.Lease, timeout: opts.Timeout, log: opts.Logger, wake: make(chan struct{}, 1)}
	f.member = member{Fleet: f, places: make(map[string]*place)}
	return f, nil
}

var _ politeness.Fleet = (*Fleet)(nil)

// An AwayError says that Redis cannot be reached, or refuses to serve. It comes
// inside a [politeness.DelayError], for a host that this member does not own.
type AwayError struct {
	Host  string
	Owner string    // the member that owned the host when it was heard of last; "": not known
	Since time.Time // when Redis answered last
	Err   error     // what Redis or its client says
}

func (e *AwayError) Error() string {
	owner := ""
	if e.Owner != "" {
		owner = ", when " + e.Owner + " of the fleet owned it"
	}
	return fmt.Sprintf("redislimit: nobody can say whose %s is: Redis has not answered since %s%s; see whether it runs: %v",
		e.Host, e.Since.Format(time.RFC3339), owner, e.Err)
}

// Unwrap returns Err.
func (e *AwayError) Unwrap() error { return e.Err }

// An ownedError says who has a host.
type ownedError struct{ owner string }

func (e *ownedError) Error() string {
	return "redislimit: " + e.owner + " of the fleet owns it, and gives it away in its turn"
}

var (
	errClosed = errors.New("redislimit: the Fleet is closed")
	errShared = errors.New("redislimit: two Limiters share a Fleet: make one for each")
	errHung   = errors.New("redislimit: the client does not return: set its timeouts, and ContextTimeoutEnabled")
	errSlow   = errors.New("redislimit: no answer within Options.Timeout")
)

// Look implements politeness.Fleet.
func (f *Fleet) Look(h *politeness.Hold) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds = append(f.holds, h)
	if !f.running {
		f.running = true
		f.done = make(chan struct{})
		go f.member.run()
	}
	f.poke()
}

// Trusted implements politeness.Fleet. A machine that was suspended is noticed
// by the wall clock, which goes on meanwhile; one that only the monotonic clock
// knows of, such as a wall clock that is set back, by that.
func (f *Fleet) Trusted() bool {
	sent := f.trust.Load()
	if sent == nil {
		return false
	}
	now := time.Now()
	return now.Sub(*sent) < f.lease && now.Round(0).Sub(sent.Round(0)) < f.lease
}

// Close gives back at once whatever this member owns, and ends its session.
// Requests that wait are not served any more. Those under way go on, so end
// them before: their hosts are others' after an interval. It returns when Redis
// knows, or an error if it does not answer in time; the session then ends by
// itself. Only the first call counts.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.closed = true
	running, done := f.running, f.done
	f.poke()
	f.mu.Unlock()
	if !running {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-time.After(3 * f.timeout):
		return fmt.Errorf("redislimit: Close: Redis does not answer: the hosts of this member rest until its session has ended, in two and a half Leases at most")
	}
}

func (f *Fleet) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// inbox returns what has come in.
func (f *Fleet) inbox() (holds []*politeness.Hold, hints []hint, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	holds, hints, f.holds, f.hints = f.holds, f.hints, nil, nil
	return holds, hints, f.closed
}

// A hint is a message on the channel of a session. An empty one says that no
// more will come.
type hint struct {
	epoch   string
	session int64
	text    string
}

// hear takes a hint.
func (f *Fleet) hear(message hint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.hints) < 10_000 { // else the beat tells
		f.hints = append(f.hints, message)
	}
	f.poke()
}

// ask runs one of the engine's calls, and waits for it no longer than Timeout.
func (f *Fleet) ask(run func(context.Context) ([]any, error)) ([]any, error) {
	if f.hung.Load() >= 16 {
		return nil, errHung
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	type answer struct {
		reply []any
		err   error
	}
	came := make(chan answer, 1)
	f.hung.Add(1)
	go func() {
		defer cancel()
		reply, err := run(ctx)
		f.hung.Add(-1)
		came <- answer{reply, err}
	}()
	select {
	case a := <-came:
		return a.reply, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-came: // it is what ended the context
		return a.reply, a.err
	default:
		return nil, errSlow
	}
}
