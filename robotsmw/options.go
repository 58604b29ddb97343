package robotsmw

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/internal/address"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
)

// Options configures a crawler and how it treats robots.txt. UserAgent is
// required. The zero value of every other field is the behavior that RFC 9309
// requires. The constructors read Options once. These are the groups of fields:
//
//   - who crawls: UserAgent, ProductTokens, StrictIdentity
//   - how requests are paced and sent: Limiter, AttemptTimeout, RobotsTimeout,
//     Base, Proxy, RefuseAddress, Wrap
//   - what is obeyed: Override, DisallowForbidden, AllowAfter30Days
//   - how each robots.txt is kept: Store, MaxOrigins, MaxBytes, KeepFiles
//   - what is reported: Page, Observer, Logger
type Options struct {
	// UserAgent is the User-Agent of requests for robots.txt, and of every
	// request that has none of its own. Required. An example is "ExampleBot/1.0
	// (+https://example.com/bot)". A library's default agent ("Go-http-client",
	// "colly") is an error, because it does not identify the crawler, and site
	// owners could not write a group for it.
	UserAgent string

	// ProductTokens are the names under which robots.txt may address this
	// crawler, in order of preference. The crawler obeys the rules for the
	// first token that has a group. If no token has one, it obeys the rules for
	// "*" (RFC 9309 §2.2.1). A token consists of letters, digits, '_', '-' and
	// '.'; case does not matter. Nil means the first product of UserAgent,
	// or the product after "compatible;" if the first is Mozilla.
	ProductTokens []string

	// StrictIdentity makes RoundTrip return an *IdentityError for a request
	// whose own User-Agent contains none of the product tokens. With such a
	// request, the server would see one name, but the crawler would obey the
	// rules for another name. False means that the request is treated like any
	// other, and the first such request is logged.
	StrictIdentity bool

	// Limiter paces the requests to each host, for pages and for robots.txt: it
	// wraps Base in a politeness.Transport. Nil means that NewClient uses a
	// zero Limiter, and NewTransport does not pace. If there is a cache or
	// there are retries below the Transport, leave Limiter nil and put a
	// politeness.Transport below them. The constructors return the error of the
	// Limiter's Validate.
	Limiter *politeness.Limiter

	// AttemptTimeout limits each attempt. The time counts from the end of the
	// wait for the Limiter to the end of the response's body. AttemptTimeout
	// has no effect without a Limiter. 0 means
	// politeness.DefaultAttemptTimeout, 30 s. Negative means no limit.
	AttemptTimeout time.Duration

	// RobotsTimeout limits each hop of a robots.txt fetch, up to the last byte
	// of the answer. If the hop waits for a politeness.Limiter in Base, the
	// limit begins after the wait. When the time is over, robots.txt is
	// unreachable. 0 means 30 s.
	RobotsTimeout time.Duration

	// Base sends the requests for pages and for robots.txt. It must obey a
	// request's context, as http.Transport does: RobotsTimeout relies on that.
	// If Base has a method Validate() error, as a politeness.Transport and a
	// webbotauth.Transport have, the constructors return its error. Nil means
	// http.DefaultTransport, or a clone of it if Proxy or RefuseAddress is set.
	Base http.RoundTripper

	// Proxy selects the proxy of a request, as http.Transport.Proxy does. It
	// can only be set if Base is nil, because a Base has its own proxy.
	// Nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	// RefuseAddress is called before each connection, with the address to
	// connect to. It is called for redirect hops too. An error refuses the
	// address. With PublicOnly as this function, no site can lead a direct
	// connection into a private network. Errors of requests that are refused
	// in this way wrap ErrAddressRefused and this error.
	//
	// Through a proxy, RefuseAddress is called only with the address of the
	// proxy, which resolves the names of sites and connects to them. So
	// RefuseAddress cannot keep the proxy from private addresses: the proxy
	// must refuse them. This applies to Proxy and, if Proxy is nil, to a proxy
	// from the environment (HTTP_PROXY, HTTPS_PROXY). To let RefuseAddress see
	// the address of every site, set Proxy to a function that returns nil, nil.
	//
	// RefuseAddress can only be set if Base is nil. In a Base of your own, use
	// DialControl(f) as net.Dialer.Control instead. Nil means that no address
	// is refused. The function must be safe for concurrent use.
	RefuseAddress func(netip.Addr) error

	// Wrap wraps the robots transport of NewClient, and of a collector that
	// collyrobots.Attach attaches to. It is for a revisit.Transport. If you
	// call NewTransport, wrap its result instead: there, Wrap is an error. It
	// is also an error if the function returns nil. Nil means that requests go
	// straight to the robots transport.
	Wrap func(robots http.RoundTripper) http.RoundTripper

	// Override maps an origin ("https://example.com") to the text of a
	// robots.txt. On this origin, the crawler obeys this text instead of the
	// origin's own file. It fetches the origin's own file only if the
	// robots.txt of another origin redirects to that file. Override is meant
	// for the owner of a site. The text "" allows everything on the origin, and
	// "User-agent: *\nDisallow: /\n" disallows everything. Nil means none.
	Override map[string]string

	// DisallowForbidden disallows everything on an origin whose robots.txt
	// answers 401 or 403. The Internet-Draft of 1996 for robots.txt advised
	// this. False means that such a robots.txt is unavailable, as after any
	// other 4xx, and everything is allowed (RFC 9309 §2.3.1.3).
	DisallowForbidden bool

	// AllowAfter30Days allows everything on an origin whose robots.txt has been
	// unreachable for 30 days. If there is a good copy of the file, the copy is
	// obeyed instead (RFC 9309 §2.3.1.4). False means that everything stays
	// disallowed until robots.txt can be fetched.
	AllowAfter30Days bool

	// Store keeps robots.txt records beyond this process: in a directory
	// (diskstore), in Redis (redisstore), or in your own Store. If it is a
	// Locker too, a fleet fetches each robots.txt once. Robots with different
	// User-Agents may share a Store, but each fetches the file that the site
	// serves to it. If a Store fails, hangs or returns garbage, this costs a
	// fetch, but never changes a decision. Nil means that records are kept only
	// in memory.
	Store Store

	// MaxOrigins and MaxBytes bound the records in memory. MaxOrigins also
	// counts the fetches under way, and MaxBytes what they have read so far.
	// When memory is full, the least recently used record is evicted. Fetches
	// that no request waits for are ended, oldest first, when they take more
	// than half of MaxBytes. What requests wait for may exceed the limits: see
	// the doc of Checker. 0 means 100,000 origins and 128 MiB.
	MaxOrigins int
	MaxBytes   int64

	// KeepFiles keeps the text of each robots.txt in memory, for Decision.File.
	// It is for crawlers that need lines other than rules and Sitemap lines,
	// such as a site owner's preferences about the use of pages (package
	// preference). Each different file takes about twice its size in memory,
	// and more if its lines are short: see robotstxt.File.Size. MaxBytes counts
	// this memory. False means that only the rules and the Sitemap lines are
	// kept, and Decision.File returns nil. Checker.Sitemaps works either way. A
	// Store always gets the whole file, so crawlers with and without KeepFiles
	// can share one.
	KeepFiles bool

	// Page configures how page directives (robots metas, X-Robots-Tag) are
	// read.
	Page PageOptions

	// Refusals recognizes block pages by additional rules, which
	// refusal.NewDetector takes. They apply to robots.txt, which is then
	// unreachable, and to PageDirectives. The Limiter pauses a host only after
	// the refusals of the built-in table. Nil means that table alone.
	Refusals *refusal.Detector

	// Observer gets events, such as decisions and fetches. [Join] makes one
	// Observer of several. Nil means none.
	Observer *Observer

	// Logger gets errors (a panic in Base or the Observer), warnings (a foreign
	// User-Agent, a failing Store) and debug messages (fetches, blocked
	// requests). Nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultTimeout    = 30 * time.Second
	defaultMaxOrigins = 100_000
	defaultMaxBytes   = 128 << 20
)

// config is an Options that has been checked, with its defaults filled in.
type config struct {
	Options
	tokens    []string
	overrides map[string]string // Options.Override, with canonical origins as keys
	page      page.Options
	sender    http.RoundTripper // sends pages and robots.txt: Base, under the pace if there is a Limiter
}

func (o Options) config() (*config, error) {
	tokens, err := productTokens(o.UserAgent, o.ProductTokens)
	if err != nil {
		return nil, err
	}
	c := &config{Options: o, tokens: tokens}
	c.page = page.Options{Tokens: tokens, ReadAhead: o.Page.ReadAhead, Refusals: o.Refusals}
	if c.sender, err = o.sender(); err != nil {
		return nil, err
	}
	if err := o.validateSender(); err != nil {
		return nil, err
	}
	switch {
	case o.Page.ReadAhead < 0:
		return nil, fmt.Errorf("robotsmw: Page.ReadAhead is %v: set a positive duration, or 0 to read nothing ahead", o.Page.ReadAhead)
	case o.RobotsTimeout < 0:
		return nil, fmt.Errorf("robotsmw: RobotsTimeout is %v: set a positive duration, or 0 for %v", o.RobotsTimeout, defaultTimeout)
	case o.MaxOrigins < 0:
		return nil, fmt.Errorf("robotsmw: MaxOrigins is %d: set a positive number, or 0 for %d", o.MaxOrigins, defaultMaxOrigins)
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("robotsmw: MaxBytes is %d: set a positive number, or 0 for %d", o.MaxBytes, defaultMaxBytes)
	}
	c.RobotsTimeout = cmp.Or(o.RobotsTimeout, defaultTimeout)
	c.MaxOrigins = cmp.Or(o.MaxOrigins, defaultMaxOrigins)
	c.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	c.Observer = cmp.Or(o.Observer, new(Observer))
	c.Logger = cmp.Or(o.Logger, slog.Default())
	c.overrides = make(map[string]string, len(o.Override))
	for name, text := range o.Override {
		key, err := origin.Parse(name)
		if err != nil {
			return nil, err
		}
		if _, dup := c.overrides[key]; dup {
			return nil, fmt.Errorf("robotsmw: Override contains the origin %s more than once", key)
		}
		c.overrides[key] = text
	}
	return c, nil
}

// sender returns the transport that sends requests: the caller's Base, or the
// default transport with the caller's proxy and address check. If there is a
// Limiter, sender adds a politeness.Transport. If there is none, it adds an
// httputil.CancelingTransport. Both cancel a request whose body is closed
// early.
func (o Options) sender() (http.RoundTripper, error) {
	base := o.Base
	switch {
	case base != nil && o.Proxy != nil:
		return nil, errors.New("robotsmw: both Base and Proxy are set: set the Proxy of your Base (http.Transport.Proxy) instead")
	case base != nil && o.RefuseAddress != nil:
		return nil, errors.New("robotsmw: both Base and RefuseAddress are set: give your Base a net.Dialer{Control: robotsmw.DialControl(f)} instead")
	case base == nil && o.Proxy == nil && o.RefuseAddress == nil:
		base = http.DefaultTransport
	case base == nil:
		t, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			return nil, fmt.Errorf("robotsmw: http.DefaultTransport is a %T, so Proxy and RefuseAddress cannot be applied to it: set Base", http.DefaultTransport)
		}
		t = t.Clone()
		if o.Proxy != nil {
			t.Proxy = o.Proxy
		}
		if o.RefuseAddress != nil {
			t.DialContext = address.Dialer(o.RefuseAddress).DialContext
		}
		base = t
	}
	p, paced := base.(*politeness.Transport)
	switch {
	case o.Limiter == nil && paced:
		return base, nil
	case o.Limiter == nil:
		return &httputil.CancelingTransport{Base: base}, nil
	case paced && p.Limiter == o.Limiter:
		return nil, errors.New("robotsmw: Base already uses this Limiter, so every request would wait twice: leave Options.Limiter nil")
	}
	return &politeness.Transport{Base: base, Limiter: o.Limiter, AttemptTimeout: o.AttemptTimeout}, nil
}

// validateSender returns the errors that the Limiter and Base have in their own
// settings. Without this check, a fetch of robots.txt would fail with such an
// error, and robots.txt would count as unreachable.
func (o Options) validateSender() error {
	if o.Limiter != nil {
		if err := o.Limiter.Validate(); err != nil {
			return fmt.Errorf("robotsmw: Options.Limiter: %w", err)
		}
	}
	if err := httputil.Validate(o.Base); err != nil {
		return fmt.Errorf("robotsmw: Options.Base: %w", err)
	}
	return nil
}
