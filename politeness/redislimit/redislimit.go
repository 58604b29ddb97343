package redislimit

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
)

// Options are the settings of a Backend. The zero value is what most want.
type Options struct {
	// Namespace is what all keys begin with, in braces: {Namespace}. Fleets with
	// different ones do not know of each other. It must be free of braces, white
	// space and the characters *?[]\ of key patterns. "": "courtesy".
	Namespace string

	// Timeout is the longest that a request waits for Redis's answers before it
	// does without. 0: 80 ms. It has to be well above the time that Redis takes
	// on a busy day, or members leave it for nothing.
	Timeout time.Duration

	// Stop refuses requests with an [*AwayError] while Redis is away, instead
	// of going on at the fleet's own slots.
	Stop bool

	// Logger hears when Redis is lost and when it is back, once each. Its
	// handler must not call the Backend. nil: slog.Default. (The client has a
	// log of its own, for each dial that fails: see redis.SetLogger.)
	Logger *slog.Logger
}

const (
	lead      = 10 * time.Millisecond  // before a slot, it is looked whether it still stands
	probe     = 500 * time.Millisecond // on its own, a member tries to reach Redis as often
	beat      = time.Second            // a member reports as often, if it has anything to do
	settled   = 3 * beat               // by then all have heard of a seat
	seatLife  = 30 * time.Second       // of a member that reports no more
	stateLife = 24 * time.Hour         // of the fleet's keys, if nobody reports
	holdFor   = 30 * time.Second       // how long a lease outlives its member
	eager     = 50 * time.Millisecond  // at a pace below, there is no time to take the lease later
	repoll    = 2 * time.Second        // on its own, a waiting request looks as often whether Redis is back
	maxHung   = 64                     // unanswered reports at a time
	maxPauses = 10_000                 // remembered
)

// grace is how long a new epoch stays closed: until then each member that goes on
// without Redis has tried to reach it, and has heard of the epoch.
func (b *Backend) grace() time.Duration { return probe + 4*b.timeout }

// A Backend is a politeness.Backend in Redis. Make one with New for each process
// and give it to one Limiter, or to several with different keys. It is safe
// for concurrent use. It does not close its client, and needs no closing itself:
// what it does in the background ends with the requests.
type Backend struct {
	client   redis.UniversalClient
	prefix   string // of the keys
	id       string // of this member
	timeout  time.Duration
	stop     bool
	log      *slog.Logger
	fleetKey string
	epochKey string
	waits    sync.Pool // of *wait

	mu        sync.Mutex // held for moments
	calls     []*call    // not sent yet
	pipelines int        // that are sending
	clock     clock
	run       string // the server's run_id
	sha, look string // of the scripts that this run knows
	unloaded  bool   // the script has to be loaded again
	joined    time.Time
	joining   *report
	hung      int
	seat      seat
	own       *own // nil: Redis has the say
	pauses    map[string]time.Time
	stats     Stats
}

// seat is a member's place in its fleet.
type seat struct {
	number, of int64
	since      time.Time // when it was given
	fewer      time.Time // since when fewer seats have been reported
	members    int
}

// Stats are a Backend's numbers at one moment.
type Stats struct {
	Seat, Seats int  // which of how many time slots is this member's without Redis
	Members     int  // at the last report
	Away        bool // this member is on its own

	Slots   uint64 // started at slots from Redis
	Own     uint64 // started at own slots
	Void    uint64 // slots that did not stand, so that another was taken
	Refused uint64 // waits that were too long
	Lost    uint64 // how often Redis has been lost; hiccups do not count
	Back    uint64 // how often it has had the say again
	Epochs  uint64 // how often the fleet had to begin anew, as far as this member heard
}

// New is a member of the fleet that meets at client's Redis in opts.Namespace. It
// does not connect yet.
func New(client redis.UniversalClient, opts Options) (*Backend, error) {
	if client == nil {
		return nil, errors.New("redislimit: the client is nil: give a redis.NewUniversalClient(…)")
	}
	if opts.Namespace == "" {
		opts.Namespace = "courtesy"
	}
	if strings.ContainsAny(opts.Namespace, "{}*?[]\\ \t\r\n") {
		return nil, fmt.Errorf("redislimit: the Namespace %q has a brace, white space or a character of key patterns: leave it out", opts.Namespace)
	}
	if opts.Timeout < 0 {
		return nil, fmt.Errorf("redislimit: the Timeout is %v: give a positive duration, or 0 for the default", opts.Timeout)
	}
	if opts.Timeout == 0 {
		opts.Timeout = 80 * time.Millisecond
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	prefix := "{" + opts.Namespace + "}"
	return &Backend{
		client: client, prefix: prefix, id: rand.Text(), timeout: opts.Timeout, stop: opts.Stop, log: opts.Logger,
		fleetKey: prefix + "fleet", epochKey: prefix + "epoch",
		seat: seat{number: -1, of: 1}, pauses: make(map[string]time.Time),
		waits: sync.Pool{New: newWait},
	}, nil
}

var _ politeness.Backend = (*Backend)(nil)

// An AwayError says that a request was refused because Redis does not answer, and
// the member may not go on without: Options.Stop is set, or the fleet has known
// it for too short a time to have kept time slots free for it. It is a
// *politeness.DelayError to errors.As.
type AwayError struct {
	Host  string
	Until time.Time // when to try again
	Err   error     // what Redis's client says
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("redislimit: %s may not be asked while Redis is away, see whether it runs: %v", e.Host, e.Err)
}

// Unwrap returns a *politeness.DelayError and Err.
func (e *AwayError) Unwrap() []error {
	return []error{&politeness.DelayError{Host: e.Host, Until: e.Until}, e.Err}
}

// Stats returns the numbers of this moment.
func (b *Backend) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Seat, s.Seats, s.Members, s.Away = int(b.seat.number), int(b.seat.of), b.seat.members, b.own != nil
	return s
}

// Take implements politeness.Backend. It takes Options.Timeout at most.
func (b *Backend) Take(ctx context.Context, host string, terms politeness.Terms) (politeness.Slot, error) {
	limit := time.Now().Add(b.timeout)
	for tries := 0; ; tries++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch b.mode(time.Now()) {
		case onOwn:
			return b.takeOwn(host, terms)
		case onRedis:
			s, err := b.takeRedis(ctx, host, terms, limit)
			switch {
			case err == nil:
				return s, nil
			case errors.Is(err, errAgain):
				continue
			case !errors.Is(err, errUnknown):
				return nil, err
			}
		}
		// This member is new, or the server, its scripts or the epoch is.
		err := b.wait(ctx, b.report(), limit)
		if err == nil && tries > 3 {
			err = errors.New("it loses what it is told")
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			b.lose(err)
		}
	}
}

// Pause implements politeness.Backend.
func (b *Backend) Pause(host string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.paused(host, now.Add(wait), now)
	switch {
	case b.sha == "":
		b.startReport(now) // tells it
	case b.own == nil || b.own.cause == nil:
		b.tell(host, "pause", millis(wait), millis(lead))
	}
}

// paused remembers a pause, to keep to it without Redis, and to tell a Redis that
// has forgotten.
func (b *Backend) paused(host string, until, now time.Time) {
	if !until.After(b.pauses[host]) {
		return
	}
	if len(b.pauses) >= maxPauses {
		for h, end := range b.pauses {
			if !end.After(now) {
				delete(b.pauses, h)
			}
		}
		if len(b.pauses) >= maxPauses {
			return
		}
	}
	b.pauses[host] = until
}

// millis is d in ms, rounded up: a pace may become slower by it, never faster.
func millis(d time.Duration) int64 {
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return int64(ms)
}
