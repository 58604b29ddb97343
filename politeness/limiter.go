package politeness

import (
	"context"
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
// serves all the hosts of a crawl. Each host has its own queue and its own
// pace. A request waits for requests to other hosts only if Within or
// GlobalRate is set.
//
// The zero value is polite: each host gets at most one request per second, one
// at a time. Most programs set Delay, Concurrency and MaxWait. The next fields
// say how far a host's own wishes are followed, then how to be gentler, then
// what is limited beyond one host or one moment. [Limiter.Validate] checks
// them. The fields must not be changed after the first use, and a Limiter must
// not be copied. All methods are safe for concurrent use.
type Limiter struct {
	// The pace of a host:

	// Delay is the least time between the starts of two requests to one host. 0
	// means [DefaultDelay], 1 s. Negative means none, but Concurrency,
	// Crawl-delays and pauses still apply.
	Delay time.Duration

	// Concurrency is how many requests to one host may be in flight, from their
	// start until [Grant.Done]. It is always 1 for a host with a Crawl-delay. 0
	// means 1. Negative means no limit.
	Concurrency int

	// MaxWait is the longest time that Acquire waits. A request that would wait
	// longer is refused with a [*DelayError] as soon as that is known. 0 means
	// as long as the context allows. Negative means no wait at all.
	//
	// In a Transport, a request that follows a redirect of an http.Client (its
	// Response is set) may wait longer by Delay, MaxCrawlDelay or the intervals
	// of PerHost, whichever is longest. Otherwise the interval after the
	// redirect would refuse it each time that its caller comes back.
	MaxWait time.Duration

	// How the pace heeds what a host says:

	// MaxCrawlDelay is the longest Crawl-delay that requests wait for. If a
	// host's Crawl-delay is longer, the first request to the host starts, and
	// further requests are refused with a [*DelayError] until the Crawl-delay
	// is over. If the owner of the host has agreed to a shorter one, set that
	// in PerHost. 0 means [DefaultMaxCrawlDelay], 60 s. Negative means no
	// maximum.
	MaxCrawlDelay time.Duration

	// MaxRetryAfter is the longest pause that a Retry-After or a spent quota
	// can cause. A longer one is cut, so that a mistake of a server's operator
	// does not end a crawl. A pause for a quota may last one second more than
	// MaxRetryAfter. 0 means [DefaultMaxRetryAfter], 24 h. Negative means no
	// maximum.
	MaxRetryAfter time.Duration

	// BackOff is the pause after the first 429 without a usable Retry-After,
	// and up to a tenth longer at random. It doubles with each further incident
	// in a row. An incident is a refusal, together with the refusals of
	// requests that were in flight then. After a first 503, or a first answer
	// that is surely a challenge, a captcha or a block, the host rests for only
	// one more interval; the second in a row counts as a 429. Any other answer
	// below 500 is good, and undoes one doubling, unless it is a 4xx with a
	// Retry-After. 0 means [DefaultBackOff], 5 s. Negative means none, and only
	// a Retry-After or a spent quota pauses a host.
	BackOff time.Duration

	// MaxBackOff is the longest pause that the doubling of BackOff reaches. 0
	// means [DefaultMaxBackOff], 1 h. Negative means no maximum.
	MaxBackOff time.Duration

	// A gentler pace:

	// EndToStart counts every interval from the end of a request (Grant.Done)
	// instead of from its start. So a host that answers slowly is left alone
	// for the whole interval.
	EndToStart bool

	// Jitter lengthens each interval at random, by up to this fraction of the
	// interval. With 0.5, an interval becomes up to half longer. 0 means no
	// jitter. A negative Jitter, NaN or more than 100 is invalid.
	Jitter float64

	// Adaptive derives a delay from the host's own response times: a host rests
	// for this many response times, such as 5, but for at most 60 s and never
	// less than Delay. The delay rises at once, and falls by half of the
	// difference with each 2xx answer. 0 means off. A negative Adaptive, NaN or
	// more than 1e6 is invalid.
	Adaptive float64

	// PerHost, if not nil, returns the settings of one host. The key is the
	// host's name, as Key returns it. Without a Key, that is the name in lower
	// case without a port, such as "www.example.com". Three seconds for one
	// host, and the Limiter's own fields for all others:
	//
	//	perHost := map[string]politeness.HostSettings{
	//		"www.example.com": {Delay: 3 * time.Second},
	//	}
	//	limiter.PerHost = func(key string) politeness.HostSettings {
	//		return perHost[key]
	//	}
	//
	// PerHost is called when a request joins the host's queue, and by Next. The
	// settings that it returned last apply to all requests to the host,
	// including those that already wait. So the settings may change while a
	// crawl runs, and take effect with the next request to the host. PerHost
	// must be fast, and many goroutines may call it at the same time. If it
	// panics, the request leaves all queues and uses up no slot.
	//
	// The fields of Within are not affected, because Within may have a PerHost
	// of its own. In a fleet, PerHost must return the same settings in every
	// member, because each member paces the hosts that it owns by its own. nil
	// means that all hosts have the settings of the Limiter.
	PerHost func(key string) HostSettings

	// Limits on more than one host, and on more than a moment:

	// Key returns the name of the host that a URL belongs to. Requests with the
	// same key share one pace. If Key returns an error or an empty name,
	// Acquire returns an error. Many goroutines may call Key at the same time.
	// nil means [HostKey].
	Key func(ctx context.Context, u *url.URL) (string, error)

	// Within, if not nil, is a second Limiter: a request starts when both allow
	// it. Give it another Key, such as [IPKey], to be gentle with a machine
	// that serves many hosts. Its Delay and Concurrency apply to all hosts that
	// share a key of the second Limiter. As everywhere, a zero Delay means 1 s
	// and a zero Concurrency means 1: all hosts with one key together get one
	// request per second, one at a time. A Key that is the same for all URLs
	// would slow the whole crawl down to that. To limit only the requests in
	// flight to all hosts, set Delay to -1, and Concurrency. The second Limiter
	// keeps its own Delay, EndToStart, Jitter, Concurrency, MaxWait, Lease,
	// MaxHosts, GlobalRate and Within. It must have neither Fleet nor Budget.
	// Crawl-delay, back-off, quotas and adaptive pace apply only in the first
	// Limiter, whose Observer and Logger serve both. Several Limiters may share
	// one Within.
	Within *Limiter

	// GlobalRate, if not nil, limits the requests to all hosts together: each
	// request takes a token from it. Other parts of the program may take tokens
	// from it too.
	GlobalRate *rate.Limiter

	// Budget limits what each host is asked for in a day. The zero value is no
	// limit.
	Budget Budget

	// Fleet, if not nil, makes sure that only one of many Limiters owns a host
	// at any time, so that the processes of a fleet keep one pace. Give all of
	// these Limiters the same fields. A request to a host that another Limiter
	// owns waits until the owner gives the host away. The owner usually does so
	// after 2 s, or soon after its last request to the host is over. A Fleet
	// serves one Limiter, which cannot be the Within of another. nil means that
	// this process paces alone.
	Fleet Fleet

	// What the Limiter remembers and reports:

	// MaxHosts is how many hosts are remembered. When new hosts come, the
	// Limiter forgets hosts whose interval and pause are over. If it knows more
	// about a host, such as a Crawl-delay or a history of refusals, it forgets
	// the host only when there are MaxHosts. Then the host that was used
	// longest ago goes. A host with requests, or within its interval, stays,
	// above MaxHosts if need be. Paused hosts, and those within a Crawl-delay
	// longer than MaxCrawlDelay or an hour, hold nine tenths of the places at
	// most: beyond that, and when nothing else can go, one of them goes, at
	// random. So no new host is refused. But with a Budget, MaxHosts limits how
	// many hosts are asked in one day, because their counts are kept all day. 0
	// means [DefaultMaxHosts], 1,000,000. Negative means no limit.
	MaxHosts int

	// Lease is how long a grant holds its slot if Done is not called. It has to
	// be longer than the longest request. A Transport prolongs the Lease to
	// AttemptTimeout if AttemptTimeout is longer. 0 means [DefaultLease], 10
	// min. Negative means no limit.
	Lease time.Duration

	// Observer reports what happens to requests and hosts. [Join] combines
	// several Observers. nil means no reports.
	Observer *Observer

	// Logger gets warnings about a response body that nobody reads. At debug
	// level it gets each back-off. nil means [slog.Default].
	Logger *slog.Logger

	once    sync.Once
	invalid error
	set     settings
	epoch   time.Time     // a point in time is kept as the duration since epoch, on the monotonic clock
	global  *Limiter      // lets one request at a time ask GlobalRate; nil means that GlobalRate is nil
	tokens  *rate.Limiter // in the Limiter global: GlobalRate; in any other: nil
	token   *token        // in the Limiter global: the one that is reserved now; guarded by mu

	mu     sync.Mutex // held for moments, never during a wait
	hosts  schedule.Table
	starts uint64 // how many requests have started
	spare  schedule.Spare
	stats  Stats

	perHost settingsTable // the settings that PerHost has returned

	accounts schedule.Accounts // of the hosts' Budgets
}

// A Fleet lets only one of many Limiters at a time ask a host. See
// [Limiter.Fleet]. Package redislimit makes Fleets; its methods are for the
// Limiter alone.
type Fleet = fleet.Fleet

// settings are those fields of a Limiter that have defaults. 0 and negative
// values are replaced by what they mean.
type settings struct {
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
	l.set = settings{
		host: schedule.Settings{
			Delay:         orDefault(l.Delay, DefaultDelay, 0),
			MaxCrawlDelay: orDefault(l.MaxCrawlDelay, DefaultMaxCrawlDelay, schedule.Unlimited),
			EndToStart:    l.EndToStart,
			Jitter:        l.Jitter,
			Adaptive:      l.Adaptive,
			BackOff:       orDefault(l.BackOff, DefaultBackOff, 0),
			MaxBackOff:    orDefault(l.MaxBackOff, DefaultMaxBackOff, schedule.Unlimited),
			Concurrency:   slots(l.Concurrency, 1),
			Random:        rand.Float64,
		},
		maxRetryAfter: orDefault(l.MaxRetryAfter, DefaultMaxRetryAfter, schedule.Unlimited),
		lease:         orDefault(l.Lease, DefaultLease, schedule.Unlimited),
		maxHosts:      orDefault(l.MaxHosts, DefaultMaxHosts, math.MaxInt),
		key:           l.Key,
	}
	l.perHost.own = &l.set.host
	l.hosts = schedule.Table{
		MaxHosts: l.set.maxHosts,
		Settings: &l.set.host,
		Evicted:  l.perHost.release,
	}
	l.accounts = schedule.Accounts{
		Limit:    schedule.Amount{Requests: l.Budget.Requests, Bytes: l.Budget.Bytes},
		IsShared: l.Fleet != nil,
		MaxHosts: l.set.maxHosts,
	}
	if l.set.key == nil {
		l.set.key = HostKey
	}
	if l.GlobalRate != nil {
		l.global = &Limiter{Delay: -1, Concurrency: -1, Lease: l.Lease, MaxHosts: 1}
		l.global.tokens = l.GlobalRate
		l.global.init()
	}
}

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
			return invalidField("Limiter", "Within", "a circle", "let the last Limiter of the chain have none")
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
