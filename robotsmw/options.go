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

// Options configure a crawler: its name, and how it treats robots.txt. Only
// UserAgent is required. The zero value of each other field selects a default
// that conforms to RFC 9309. The constructors read the Options once. The fields
// are in groups:
//
//   - the name of the crawler: UserAgent, ProductTokens, StrictIdentity
//   - how requests are delayed and sent: Limiter, AttemptTimeout,
//     RobotsTimeout, Base, Proxy, RefuseAddress, Wrap
//   - exceptions from robots.txt: Override, DisallowForbidden, AllowAfter30Days
//   - how robots.txt files are kept: Store, MaxOrigins, MaxBytes, KeepFiles
//   - what is reported: Page, Observer, Logger
type Options struct {
	// UserAgent is the User-Agent of requests for robots.txt, and of every
	// request that has none of its own, such as "ExampleBot/1.0
	// (+https://example.com/bot)". It is required. The default of a library,
	// such as "Go-http-client/1.1" or "colly", is an error, because it does not
	// identify the crawler to site owners.
	UserAgent string

	// ProductTokens are the names by which robots.txt may address this crawler,
	// in order of preference. The crawler obeys the rules for the first token
	// that has a group, or else the rules for "*" (RFC 9309 §2.2.1). A token
	// consists of letters, digits, '_', '-' and '.'; case does not matter. Nil
	// means the first product of UserAgent, or the product after "compatible;"
	// if the first is Mozilla.
	ProductTokens []string

	// StrictIdentity makes RoundTrip return an *IdentityError for a request
	// whose own User-Agent contains none of the product tokens, because the
	// server would receive one name while the crawler obeys the rules for
	// another. False means that such a request is sent, and that the first one
	// is logged.
	StrictIdentity bool

	// Limiter delays the requests to each host, for pages and for robots.txt,
	// by a politeness.Transport around Base. Nil means a zero Limiter in
	// NewClient, and no delays in NewTransport. If there are retries or a cache
	// below this Transport, leave Limiter nil and put a politeness.Transport
	// below them. The constructors return the error of the Limiter's Validate.
	Limiter *politeness.Limiter

	// AttemptTimeout limits each attempt, from the end of the wait for the
	// Limiter to the end of the response's body. It has no effect without a
	// Limiter. 0 means politeness.DefaultAttemptTimeout, 30 s. Negative means
	// no limit.
	AttemptTimeout time.Duration

	// RobotsTimeout limits each hop of a robots.txt fetch, from the end of the
	// wait for the Limiter to the last byte of the response. A fetch that takes
	// longer makes robots.txt unreachable. 0 means 30 s.
	RobotsTimeout time.Duration

	// Base sends the requests for pages and for robots.txt. It must respect the
	// context of a request, as http.Transport does. If it has a method
	// Validate() error, as a politeness.Transport has, the constructors return
	// its error. Nil means http.DefaultTransport, or a clone of it if Proxy or
	// RefuseAddress is set.
	Base http.RoundTripper

	// Proxy returns the proxy of a request, as http.Transport.Proxy does. Proxy
	// and Base must not both be set. Nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	// RefuseAddress is called before each connection, with the address to
	// connect to; PublicOnly refuses private addresses. If it returns an error,
	// no connection is made, and the request fails with an error that wraps
	// ErrAddressRefused and the returned error.
	//
	// Through a proxy (Proxy, HTTP_PROXY or HTTPS_PROXY), only the address of
	// the proxy is checked, so the proxy itself must refuse private addresses.
	// To use no proxy, set Proxy to a function that returns nil, nil.
	//
	// RefuseAddress and Base must not both be set: in a Base, use DialControl
	// as the Control of its net.Dialer. RefuseAddress must be safe for
	// concurrent use. Nil means that no address is refused.
	RefuseAddress func(netip.Addr) error

	// Wrap wraps the robots transport of NewClient or collyrobots.Attach, for
	// example in a revisit.Transport. A nil result is an error, and so is a
	// Wrap in NewTransport, whose caller can wrap the result. Nil means that
	// the robots transport is used directly.
	Wrap func(robots http.RoundTripper) http.RoundTripper

	// Override maps an origin, such as "https://example.com" or, with a port
	// that is not the default one, "http://example.com:8080", to the text of a
	// robots.txt that is obeyed there instead of the origin's own, which is
	// fetched only if the robots.txt of another origin redirects to it.
	// Override is meant for the owner of a site. The text "" allows everything
	// on the origin; "User-agent: *\nDisallow: /\n" disallows everything. Nil
	// means none.
	Override map[string]string

	// DisallowForbidden disallows everything on an origin whose robots.txt has
	// the status 401 or 403, as the Internet-Draft of 1996 for robots.txt
	// advised. False means that these statuses allow everything, like any other
	// 4xx (RFC 9309 §2.3.1.3).
	DisallowForbidden bool

	// AllowAfter30Days allows everything on an origin whose robots.txt has been
	// unreachable for 30 days, unless there is a good copy of the file (RFC
	// 9309 §2.3.1.4). False means that everything is disallowed until
	// robots.txt can be fetched.
	AllowAfter30Days bool

	// Store keeps robots.txt records beyond the life of this process: a
	// diskstore.Store, a redisstore.Store or the caller's own. Crawlers with
	// different User-Agents may share a Store, but each fetches its own copy of
	// a file. If the Store fails, hangs or returns invalid data, robots.txt may
	// be fetched again, but no decision changes. Nil means that records are
	// kept only in memory.
	Store Store

	// MaxOrigins and MaxBytes limit the records in memory and the fetches under
	// way, taken together. Beyond them, the least recently used record is
	// evicted; the documentation of Checker has the details. 0 means 100,000
	// origins and 128 MiB.
	MaxOrigins int
	MaxBytes   int64

	// KeepFiles keeps the whole text of each robots.txt in memory, for
	// Decision.File and package preference. Each distinct file then takes about
	// twice its size, which counts toward MaxBytes. False means that only rules
	// and Sitemap lines are kept, which is enough for Checker.Sitemaps, and
	// that Decision.File returns nil.
	KeepFiles bool

	// Page configures how page directives (robots meta elements, X-Robots-Tag)
	// are read.
	Page PageOptions

	// Refusals detects block pages by the caller's rules in addition to the
	// built-in table: see refusal.NewDetector. The rules apply to responses for
	// robots.txt, which then counts as unreachable, and to PageDirectives,
	// which searches for the Text of a rule in HTML only. The Limiter pauses a
	// host only for responses that the built-in table recognizes. Nil means the
	// built-in table alone.
	Refusals *refusal.Detector

	// Observer receives events, such as decisions and fetches. [Join] combines
	// several Observers. Nil means none.
	Observer *Observer

	// Logger receives errors (a panic in Base or the Observer), warnings (a
	// foreign User-Agent, a failing Store) and debug messages (fetches, blocked
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
	sender    http.RoundTripper // sends all requests: Base, inside a politeness.Transport if there is a Limiter
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
// httputil.CancelingTransport, unless Base is itself a politeness.Transport.
// Both types cancel a request whose body is closed early.
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

// validateSender returns an error if the settings of the Limiter or of Base are
// invalid. Without this check, a fetch of robots.txt would fail with such an
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
