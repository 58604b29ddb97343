package politeness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A Limiter decides when the next request to a host may start. One Limiter
// serves all the hosts of a crawl. Each host has its own queue. A request waits
// for requests to other hosts only if Within or GlobalRate is set.
//
// The zero value allows one request per second to each host, one at a time.
// Most programs set only Delay, Concurrency and MaxWait. [Limiter.Validate]
// checks the fields. They must not be changed after the first use, and a
// Limiter must not be copied. All methods are safe for concurrent use.
type Limiter struct {
	// The delay of a host:

	// Delay is the minimum time between the starts of two requests to one host.
	// 0 means [DefaultDelay], 1 s. Negative means none. Concurrency,
	// Crawl-delays and pauses apply in any case.
	Delay time.Duration

	// Concurrency is the maximum number of requests to one host in flight, from
	// their start until [Grant.Done]. It is always 1 for a host with a
	// Crawl-delay. 0 means 1. Negative means no limit.
	Concurrency int

	// MaxWait is the longest time that Acquire waits. A request that would have
	// to wait longer fails with a [*DelayError] as soon as that is known. A
	// request that follows a redirect may wait longer: see Deadlines in the
	// package documentation. 0 means as long as the context allows. Negative
	// means that requests never wait.
	MaxWait time.Duration

	// What servers may request:

	// MaxCrawlDelay is the longest Crawl-delay that requests wait for. If a
	// host has a longer one, its first request starts, and the others fail with
	// a [*DelayError] until the Crawl-delay is over. To let them wait, raise
	// MaxCrawlDelay. If the owner of the host has agreed to a shorter
	// Crawl-delay, set that in PerHost. 0 means [DefaultMaxCrawlDelay], 60 s.
	// Negative means no maximum.
	MaxCrawlDelay time.Duration

	// MaxRetryAfter is the longest pause that a Retry-After or a spent quota
	// can cause. A longer one is shortened, so that a mistake in a server's
	// configuration does not end a crawl. 0 means [DefaultMaxRetryAfter], 24 h.
	// Negative means no maximum.
	MaxRetryAfter time.Duration

	// BackOff is how long a host is paused after a response with status 429 and
	// no usable Retry-After. The response is returned to the caller, and is not
	// retried. With each further 429, the pause doubles, up to MaxBackOff. Each
	// good response undoes one doubling. A random part of up to a tenth is
	// added.
	//
	// After a 503, or a response that is surely a challenge, a captcha or a
	// block, the host is paused for only one more interval; with EndToStart, it
	// counts from the end of the request too. If such a response follows a 429
	// or another such response, with no good response between them, it counts
	// as a 429. Responses to requests that were already in flight when the
	// pause began do not double it. Any other response with a status below 500
	// is good, except a 4xx with a Retry-After.
	//
	// 0 means [DefaultBackOff], 5 s. Negative means that a host is paused only
	// by a Retry-After or a spent quota.
	BackOff time.Duration

	// MaxBackOff is the longest pause that the doubling of BackOff can reach. 0
	// means [DefaultMaxBackOff], 1 h. Negative means no maximum.
	MaxBackOff time.Duration

	// Changes of the delay:

	// EndToStart counts each interval from the end of a request (Grant.Done)
	// too, and not only from its start, so that a slow host gets no request for
	// the whole interval. If Concurrency is above 1, another request may start
	// one interval after the latest start while a request is in flight.
	EndToStart bool

	// Jitter lengthens each interval by a random part of up to this fraction of
	// it: with 0.5, an interval becomes up to half longer. 0 means no jitter.
	// Jitter must be between 0 and 100.
	Jitter float64

	// Adaptive derives a delay from the response times of a host: this many
	// response times, such as 5, but at most 60 s and never less than Delay.
	// The delay rises immediately, and falls by half of the difference with
	// each 2xx response. If a request ends without a response, because it
	// failed or its AttemptTimeout or context ended, the time until then counts
	// as a response time too, but never lets the delay fall. 0 means off.
	// Adaptive must be between 0 and 1e6.
	Adaptive float64

	// PerHost, if not nil, returns the settings of one host. The key is the
	// result of Key: with [HostKey], the host's name in lower case, without a
	// port. The package documentation has an example.
	//
	// PerHost is called for each request, before the request joins the host's
	// queue, and by Next. For a Within, it may be called several times for a
	// request: each time before the request joins its queue there, which the
	// request may leave again. Its latest result applies to all requests to the
	// host, including those that already wait, so settings may change while a
	// crawl runs. If two requests call PerHost at about the same time, either
	// result may count as the latest. PerHost must be fast and safe for
	// concurrent use. It does not change the settings of Within. nil means that
	// all hosts have the settings of the Limiter.
	PerHost func(key string) HostSettings

	// Limits for several hosts, or for a day:

	// Key returns the name of the host that a URL belongs to. Requests with the
	// same key share one queue and one delay. If Key returns an error or an
	// empty name, Acquire returns an error. Key must be safe for concurrent
	// use. nil means [HostKey].
	Key func(ctx context.Context, u *url.URL) (string, error)

	// Within, if not nil, is a second Limiter: a request starts when both allow
	// it. Its Key, such as [IPKey], gives one key to several hosts, and its
	// Delay and Concurrency apply to all of them together. If these fields are
	// 0, that is one request per second, one at a time.
	//
	// Crawl-delays, back-off, quotas and Adaptive apply only in the first
	// Limiter, whose Observer and Logger serve both. Within must have neither
	// Fleet nor Budget. Several Limiters may share one Within.
	Within *Limiter

	// GlobalRate, if not nil, limits the requests to all hosts together. Each
	// request takes one token when it starts. It waits for the token last, when
	// its host and Within allow it to start, in the order in which requests
	// reach that point. It keeps its place in the queue of Within meanwhile.
	// Therefore Limiters that share a Within should have their GlobalRate as a
	// field of that Within: otherwise requests that wait for the tokens of one
	// Limiter delay, in the queue of Within, those of the others. Other parts
	// of the program may take tokens too. The burst of GlobalRate must be at
	// least 1.
	GlobalRate *rate.Limiter

	// Budget limits the requests and bytes of each host in one day. The zero
	// value is no limit.
	Budget Budget

	// Fleet, if not nil, connects this Limiter with those of other processes,
	// which should have the same fields. Only one of them owns a host at any
	// time, so all of them together keep one delay. A request to a host that
	// another Limiter owns waits until that Limiter gives the host away. A
	// Fleet serves one Limiter, which must not be the Within of another. nil
	// means that the Limiter is used alone.
	Fleet Fleet

	// Memory and monitoring:

	// MaxHosts is how many hosts are remembered. Beyond that, the least
	// recently used host is evicted, with its Crawl-delay and its history. A
	// host about which nothing is known is evicted first, as a rule before
	// MaxHosts is reached: no Crawl-delay was declared, and no adaptive delay,
	// pause, quota or earlier 429 is in force. A host with requests, or within
	// its interval, is not evicted. Paused hosts, and those within a
	// Crawl-delay longer than an hour (or than MaxCrawlDelay, if that is
	// shorter), may occupy at most 90% of MaxHosts; beyond that, a random one
	// of them is evicted. With a Budget, MaxHosts is the maximum number of
	// hosts in one day, because their counts are kept all day. 0 means
	// [DefaultMaxHosts], 1,000,000. Negative means no limit.
	MaxHosts int

	// Lease is how long a request holds its slot if Done is not called. After
	// that, the next request that needs the slot gets it. Lease must be longer
	// than the longest request. A Transport uses its AttemptTimeout instead if
	// that is longer. 0 means [DefaultLease], 10 min. Negative means no limit.
	Lease time.Duration

	// Observer receives the events of requests and hosts. [Join] combines
	// several Observers. nil means none.
	Observer *Observer

	// Logger receives a warning if an open response body delays another request
	// for 5 s and, at debug level, each back-off. nil means [slog.Default].
	Logger *slog.Logger

	once      sync.Once
	invalid   error // the error of Validate
	effective effectiveSettings
	epoch     time.Time // a point in time is kept as the duration since epoch, on the monotonic clock

	globalStage *Limiter      // the stage of the chain for GlobalRate; nil without GlobalRate
	tokens      *globalTokens // nil unless this Limiter is the globalStage of another

	mu      sync.Mutex // held for moments, never during a wait; guards the following
	hosts   schedule.Table
	starts  uint64 // how many requests have started
	spare   schedule.Spare
	stats   Stats
	perHost settingsTable    // the settings that PerHost has returned
	budgets schedule.Budgets // what is left of the Budget of each host

	// leaseTimers has the timer for the first end of a lease, for hosts that
	// were given to another member of the Fleet with requests in flight.
	leaseTimers map[*schedule.Host]*time.Timer
}

// A Fleet gives each host to only one of many Limiters at a time. See
// [Limiter.Fleet]. Package redislimit makes Fleets. Their methods are for the
// Limiter alone.
type Fleet = fleet.Fleet

// A Budget limits how many requests and bytes each host serves in one UTC
// day, by the wall clock. When a host's Budget is spent, further requests to
// that host are rejected until the day is over: new ones at once, and those
// that already wait when their interval is over. Their [*DelayError] has the
// Reason [ReasonBudget]. A fetch of robots.txt ([Exempt]) counts too, but the
// Budget never rejects it.
//
// The Limiter keeps the count in memory, so a program that restarts on the same
// day begins with a whole Budget. With a Limiter.Fleet, the fleet keeps the
// count for all its processes, and over restarts. A process then reserves a
// 32nd of the Budget at a time, and at least 1 request and 1 byte. A process
// that is killed wastes at most one such part for each host. Only fetches of
// robots.txt and bodies in flight can exceed the Budget.
type Budget struct {
	// Requests is how many requests to a host may start in a day. 0 or negative
	// means no limit.
	Requests int64

	// Bytes is how many bytes of response bodies may be read from a host in a
	// day. A Transport counts them, in the form in which its Base returns them.
	// A request may start as long as any bytes are left. Its body is then read
	// to the end, so the bodies in flight may exceed the limit. 0 or negative
	// means no limit.
	Bytes int64
}

func (b Budget) limits() bool { return b.Requests > 0 || b.Bytes > 0 }

// effectiveSettings are those fields of a Limiter that have defaults. 0 and
// negative values are replaced by what they mean.
type effectiveSettings struct {
	host          schedule.Settings // of every host
	maxRetryAfter time.Duration
	lease         time.Duration
	maxHosts      int
	key           func(context.Context, *url.URL) (string, error)
}

func (l *Limiter) init() { l.once.Do(l.setUp) }

func (l *Limiter) setUp() {
	l.epoch = time.Now()
	l.invalid = l.Validate()
	if l.invalid == nil && l.Within != nil {
		l.Within.init()
		l.invalid = l.Within.invalid // GlobalRate may have lost its burst since Validate
	}
	if l.invalid != nil {
		return
	}
	l.effective = effectiveSettings{
		host: schedule.Settings{
			Delay:         orDefault(l.Delay, DefaultDelay, 0),
			MaxCrawlDelay: orDefault(l.MaxCrawlDelay, DefaultMaxCrawlDelay, schedule.Unlimited),
			EndToStart:    l.EndToStart,
			Jitter:        l.Jitter,
			Adaptive:      l.Adaptive,
			BackOff:       orDefault(l.BackOff, DefaultBackOff, 0),
			MaxBackOff:    orDefault(l.MaxBackOff, DefaultMaxBackOff, schedule.Unlimited),
			Concurrency:   concurrency(l.Concurrency, 1),
			Random:        rand.Float64,
		},
		maxRetryAfter: orDefault(l.MaxRetryAfter, DefaultMaxRetryAfter, schedule.Unlimited),
		lease:         orDefault(l.Lease, DefaultLease, schedule.Unlimited),
		maxHosts:      orDefault(l.MaxHosts, DefaultMaxHosts, math.MaxInt),
		key:           l.Key,
	}
	l.perHost.own = &l.effective.host
	l.hosts = schedule.Table{
		MaxHosts: l.effective.maxHosts,
		Settings: &l.effective.host,
		Evicted:  l.perHost.release,
	}
	l.budgets = schedule.Budgets{
		Limit:    schedule.Amount{Requests: l.Budget.Requests, Bytes: l.Budget.Bytes},
		IsShared: l.Fleet != nil,
		MaxHosts: l.effective.maxHosts,
	}
	if l.effective.key == nil {
		l.effective.key = HostKey
	}
	if l.GlobalRate != nil {
		l.globalStage = &Limiter{Delay: -1, Concurrency: -1, Lease: l.Lease, MaxHosts: 1}
		l.globalStage.tokens = &globalTokens{rate: l.GlobalRate}
		l.globalStage.init()
	}
}

// isGlobalStage reports whether l is the stage for the GlobalRate of another
// Limiter.
func (l *Limiter) isGlobalStage() bool { return l.tokens != nil }

// Validate returns an error if the Limiter cannot work with its fields. The
// error names the field, and includes its value and what to write instead. If
// the field belongs to a Limiter that is reached through Within, the error
// includes Within too. Validate returns nil under these conditions:
//
//   - Jitter is between 0 and 100, and Adaptive is between 0 and 1e6. NaN is
//     neither.
//   - GlobalRate is nil, or has a burst of at least 1, or has no limit
//     ([rate.Inf]). Otherwise no request could ever start.
//   - The chain of Within has an end. Each Limiter in it meets the conditions
//     above, and only the first may have a Fleet or a Budget.
//
// Every value of the other fields is valid, and so is every value that PerHost
// may return. Validate does not call Key or PerHost or contact the Fleet.
//
// NewClient, NewTransport and NewChecker of package robotsmw,
// collyrobots.Attach, gate.New and [Transport.Validate] return the error of
// Validate. A program that calls Acquire itself should call Validate first,
// because otherwise each Acquire returns that error.
//
// Validate starts nothing and changes nothing, so it may be called before the
// first use of the Limiter and later. It is safe for concurrent use.
func (l *Limiter) Validate() error {
	name := "Limiter" // of the Limiter in an error
	seen := make(map[*Limiter]bool)
	for in := l; in != nil; in = in.Within {
		if seen[in] {
			return invalidField("Limiter", "Within", "a cycle", "leave Within of the last Limiter of the chain nil")
		}
		seen[in] = true
		if err := in.validateFields(name); err != nil {
			return err
		}
		name = "Limiter" + strings.Repeat(".Within", len(seen)) + ": Limiter"
	}
	return nil
}

// validateFields checks the fields of l, but not those of l.Within.
func (l *Limiter) validateFields(name string) error {
	switch {
	case !(l.Jitter >= 0 && l.Jitter <= 100): // NaN is neither
		return invalidField(name, "Jitter", l.Jitter, "give a fraction of the interval, such as 0.5, or 0 for none")
	case !(l.Adaptive >= 0 && l.Adaptive <= 1e6):
		return invalidField(name, "Adaptive", l.Adaptive, "give how many response times a host should be left alone, such as 5, or 0 for off")
	case l.GlobalRate != nil && grantsNothing(l.GlobalRate):
		return invalidField(name, "GlobalRate", "a rate.Limiter with no burst", "give it a burst of at least 1, because otherwise no request can start")
	}
	return l.validateWithin(name)
}

func (l *Limiter) validateWithin(name string) error {
	switch {
	case l.Within == nil:
		return nil
	case l.Within.Budget.limits():
		return invalidField(name, "Within", "a Limiter with Budget", "give Budget to the outer one alone")
	case l.Within.Fleet != nil:
		return invalidField(name, "Within", "a Limiter with Fleet", "give Fleet to the outer one alone, because only one pace is shared by a fleet")
	}
	return nil
}

// grantsNothing reports whether no request can ever take a token from r.
func grantsNothing(r *rate.Limiter) bool { return r.Burst() < 1 && r.Limit() != rate.Inf }

// invalidField returns the error for a field of the Limiter with this name.
// want is what to write instead.
func invalidField(name, field string, value any, want string) error {
	return fmt.Errorf("politeness: %s.%s is %v: %s", name, field, value, want)
}

// hostKey returns the key of u's host, or an error if u has none.
func (l *Limiter) hostKey(ctx context.Context, u *url.URL) (string, error) {
	if u == nil {
		return "", errors.New("politeness: Acquire of a nil URL: give the URL to be requested")
	}
	if isHostTooLong(u) {
		// The URL is rejected before Key is called. Whatever Key returns,
		// net/http would convert the name, and that takes half a minute for a
		// very long name.
		return "", fmt.Errorf("politeness: no host key for this URL: %w", errHostTooLong)
	}
	key, err := l.effective.key(ctx, u)
	if err == nil && key == "" {
		err = errors.New("the Limiter's Key is empty for it")
	}
	if err != nil {
		return "", fmt.Errorf("politeness: no host key for this URL: %w", err)
	}
	return key, nil
}

// isHostTooLong reports whether u's host is longer than any name can be.
func isHostTooLong(u *url.URL) bool {
	return len(u.Host) > maxName && (len(u.Host) > maxHost || isTooLong(u.Hostname()))
}

// now returns the time by the monotonic clock, so changes of the wall clock
// have no effect.
func (l *Limiter) now() schedule.Time { return schedule.Time(time.Since(l.epoch)) }

// time returns a point in time by the wall clock.
func (l *Limiter) time(t schedule.Time) time.Time { return l.epoch.Add(t.Sub(0)) }

// Stats are a Limiter's numbers at one moment, for gauges. To count what
// happens over time, use an [Observer].
type Stats struct {
	Hosts    int // hosts that are remembered
	Waiting  int // requests in a queue
	InFlight int // requests that hold a slot
}

// Stats returns the numbers of this moment. They do not include those of the
// Limiter l.Within, which has Stats of its own.
func (l *Limiter) Stats() Stats {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Hosts = l.hosts.Len()
	return s
}

func (l *Limiter) logger() *slog.Logger {
	if l.Logger != nil {
		return l.Logger
	}
	return slog.Default()
}
