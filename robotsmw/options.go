package robotsmw

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
)

// Options says who the crawler is and how it treats robots.txt. UserAgent
// is required; the zero value of every other field is the behaviour that
// RFC 9309 asks for. Options is read once, by the constructor.
type Options struct {
	// UserAgent is the User-Agent header of robots.txt's own fetches, and
	// of every request that has none of its own, for example
	// "ExampleBot/1.0 (+https://example.com/bot)". Required. A library's
	// default agent ("Go-http-client", "colly") is refused: a site owner
	// could neither tell whose crawler it is nor write a group for it.
	UserAgent string

	// ProductTokens are the names under which robots.txt may address this
	// crawler, in order of preference: the first that some group names
	// selects the rules, else the "*" group does (RFC 9309 §2.2.1). Each
	// consists of letters, digits, '_', '-' and '.'; case does not matter.
	// Nil: the product that UserAgent begins with or, if that is Mozilla,
	// the one after "compatible;".
	ProductTokens []string

	// StrictIdentity refuses, with an *IdentityError, a request whose own
	// User-Agent header names none of the product tokens: its robots.txt
	// would be read for another name than the one the server sees. False:
	// such a request is sent, and the first one is logged.
	StrictIdentity bool

	// Base carries pages and robots.txt alike. It must obey a request's
	// context, as http.Transport does: RobotsTimeout relies on that. Nil:
	// http.DefaultTransport, or a clone of it where Proxy or RefuseAddress
	// is set.
	Base http.RoundTripper

	// Proxy selects the proxy of a request, as http.Transport.Proxy does.
	// It goes with a nil Base only; a Base has a proxy of its own. Nil:
	// http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	// RefuseAddress is asked before each connection; an error refuses the
	// address, after DNS and for every redirect hop, so that no site can
	// point the crawler into a private network (PublicOnly does that).
	// With a proxy, the address is the proxy's. It goes with a nil Base
	// only; a Base takes DialControl(f) as its net.Dialer.Control. Nil:
	// every address is dialled.
	RefuseAddress func(netip.Addr) error

	// Limiter paces requests per host, robots.txt's included: Base is
	// wrapped in a politeness.Transport. Nil: NewTransport does not pace
	// (put a politeness.Transport innermost yourself where a cache or
	// retries stand between); NewClient uses a zero Limiter.
	Limiter *politeness.Limiter

	// AttemptTimeout limits, with a Limiter, each attempt from the end of
	// its wait to the end of the body. 0: 30 s; negative: no limit.
	AttemptTimeout time.Duration

	// RobotsTimeout limits each hop of a robots.txt fetch, from the end of
	// its wait (if something in Base waits with a politeness.Limiter) to
	// the last byte read. After it robots.txt is unreachable. 0: 30 s.
	RobotsTimeout time.Duration

	// MaxRedirects is how many redirects a robots.txt fetch follows before
	// the file counts as unavailable. 0: 5, which is also the least that
	// RFC 9309 §2.3.1.2 lets a crawler follow.
	MaxRedirects int

	// Store keeps robots.txt records beyond this process: a directory
	// (diskstore), Redis (redisstore), or the caller's own. If it is a
	// Locker too, a fleet fetches each robots.txt once. A Store that
	// fails, hangs or returns rubbish never changes a verdict; it costs a
	// fetch. Nil: memory alone.
	Store Store

	// MaxOrigins and MaxBytes bound the records in memory; the least
	// recently used goes first, an origin that is unreachable never before
	// its next try. Fetches that wait or run have places of MaxOrigins,
	// too. When there is none left, a new origin is refused with a
	// *politeness.DelayError: see "How long a file is kept" in the package's
	// documentation. 0: 100,000 origins and 128 MiB.
	MaxOrigins int
	MaxBytes   int64

	// KeepFiles keeps each robots.txt beside the rules taken from it, for
	// Decision.File: for crawlers that want its other lines too, such as
	// what an owner says about use (package preference). It takes about
	// twice the file's size in memory, for each different file, and more
	// where lines are short: see robotstxt.File.Size. MaxBytes counts it.
	// False: the rules and sitemaps alone are kept.
	KeepFiles bool

	// DisallowForbidden treats a robots.txt that answers 401 or 403 as one
	// that disallows everything, as the 1996 draft advised. False: like
	// any other 4xx it is unavailable, and all is allowed
	// (RFC 9309 §2.3.1.3).
	DisallowForbidden bool

	// AllowAfter30Days allows everything on an origin whose robots.txt has
	// been unreachable for 30 days without a good copy at hand, as
	// RFC 9309 §2.3.1.4 permits. False: it stays disallowed for as long as
	// that lasts.
	AllowAfter30Days bool

	// Override maps an origin ("https://example.com") to the text of the
	// robots.txt to obey there in place of the one served, which is then
	// not fetched (but for an origin whose own robots.txt redirects to it).
	// It is meant for the owner of that site. "" allows everything there,
	// and "User-agent: *\nDisallow: /\n" disallows everything. Nil: none.
	Override map[string]string

	// DryRun lets everything pass and only reports what would have been
	// blocked: such a Decision has Allowed and DryRun both true. Waiting
	// for robots.txt and pacing stay as they are.
	DryRun bool

	// Page says how page directives (robots metas, X-Robots-Tag) are read.
	Page PageOptions

	// Observer is told of decisions and fetches. [Join] makes one of several.
	// Nil: nobody is told.
	Observer *Observer

	// Logger gets warnings (a foreign User-Agent, a failing Store) and, at
	// debug level, fetches and blocked requests. Nil: slog.Default().
	Logger *slog.Logger
}

const (
	defaultTimeout      = 30 * time.Second
	defaultMaxRedirects = 5
	defaultMaxOrigins   = 100_000
	defaultMaxBytes     = 128 << 20
)

// config is Options checked, with every default filled in.
type config struct {
	Options
	tokens    []string
	overrides map[string]string // by canonical origin
	page      page.Options
}

func (o Options) config() (*config, error) {
	tokens, err := productTokens(o.UserAgent, o.ProductTokens)
	if err != nil {
		return nil, err
	}
	if err := o.Page.check(); err != nil {
		return nil, err
	}
	c := &config{Options: o, tokens: tokens}
	c.page = page.Options{
		Tokens: tokens, Off: o.Page.Off, HeadOnly: o.Page.HeadOnly, Decoder: o.Page.Decoder,
		ReadAhead: o.Page.ReadAhead,
	}
	if c.Base, err = o.base(); err != nil {
		return nil, err
	}
	switch {
	case o.RobotsTimeout < 0:
		return nil, fmt.Errorf("robotsmw: RobotsTimeout %v is negative: a robots.txt fetch always ends; leave it 0 for %v", o.RobotsTimeout, defaultTimeout)
	case o.MaxRedirects < 0 || o.MaxRedirects > 0 && o.MaxRedirects < defaultMaxRedirects:
		return nil, fmt.Errorf("robotsmw: MaxRedirects %d is fewer than the %d that RFC 9309 §2.3.1.2 asks for; leave it 0 for %[2]d", o.MaxRedirects, defaultMaxRedirects)
	case o.MaxOrigins < 0:
		return nil, fmt.Errorf("robotsmw: MaxOrigins %d is negative; leave it 0 for %d", o.MaxOrigins, defaultMaxOrigins)
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("robotsmw: MaxBytes %d is negative; leave it 0 for %d", o.MaxBytes, defaultMaxBytes)
	}
	c.RobotsTimeout = orDefault(o.RobotsTimeout, defaultTimeout)
	c.MaxRedirects = orDefault(o.MaxRedirects, defaultMaxRedirects)
	c.MaxOrigins = orDefault(o.MaxOrigins, defaultMaxOrigins)
	c.MaxBytes = orDefault(o.MaxBytes, defaultMaxBytes)
	c.Logger = orDefault(o.Logger, slog.Default())
	c.overrides = make(map[string]string, len(o.Override))
	for name, text := range o.Override {
		key, err := origin.Parse(name)
		if err != nil {
			return nil, err
		}
		if _, dup := c.overrides[key]; dup {
			return nil, fmt.Errorf("robotsmw: Override names the origin %s more than once; keep one", key)
		}
		c.overrides[key] = text
	}
	return c, nil
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// base is what carries requests: the caller's Base, or the default
// transport with the caller's proxy and address check, paced by the Limiter
// if there is one.
func (o Options) base() (http.RoundTripper, error) {
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
			d := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: DialControl(o.RefuseAddress)}
			t.DialContext = d.DialContext
		}
		base = t
	}
	if o.Limiter == nil {
		return base, nil
	}
	if p, ok := base.(*politeness.Transport); ok && p.Limiter == o.Limiter {
		return nil, errors.New("robotsmw: Base already paces with this Limiter, so every request would wait twice: leave Options.Limiter nil")
	}
	return &politeness.Transport{Base: base, Limiter: o.Limiter, AttemptTimeout: o.AttemptTimeout}, nil
}
