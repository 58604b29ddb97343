package robotsmw

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/internal/load"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Checker decides whether the crawler may fetch a URL. It loads an origin's
// robots.txt when the file is first needed, keeps the file for up to 24 hours
// (RFC 9309 §2.4), and matches URLs with the file's rules. A Transport contains
// a Checker and obeys it. A Checker can also be used to plan a crawl. It must
// be created with NewChecker. All methods are safe for concurrent use.
//
// # How long a file is kept
//
// A file is kept as long as Cache-Control, Expires and Age allow (RFC 9111),
// but for at least 5 minutes and at most 24 hours. Without them, the file is
// kept for 24 hours. With a long Limiter.Delay, a file is kept for at least 5
// minutes longer than the Delay, but not for more than 24 hours. The record of
// an unavailable file is kept for the same time, or for one hour if the file is
// unavailable because of an invalid redirect or too many redirects. A file is
// revalidated with its ETag and Last-Modified. The first request after four
// fifths of the lifetime starts a refresh in the background and does not wait
// for it. Records are kept in memory, within the limits of Options.MaxOrigins
// and MaxBytes. A Store (package diskstore, redisstore) keeps records across
// restarts, or shares them among processes.
//
// No call discards a record early. To fetch all files again, create a new
// Checker or Transport with the same Limiter, and without the Store or with an
// empty one.
//
// When memory is full, the least recently used origin is evicted. An
// unreachable origin stays until its next try, because otherwise the next
// request would be sent to an overloaded server. Such origins may occupy at
// most 90% of the limits. Beyond that, a random one of them is evicted, so that
// new origins are always accepted, and no domain can displace the others.
//
// An origin is not evicted while its robots.txt is fetched, or while a request
// of a Transport to the origin waits for its host, because that request is
// checked again, with the newest known file, before it is sent. If memory
// contains only such origins, a new origin exceeds the limit.
//
// # One fetch
//
// All requests that need a robots.txt at the same time share one fetch. A
// request that is canceled does not cancel the fetch for the others. The
// requests of a fetch, including those of redirects, observe the delays of
// their hosts. If a redirect leads to the robots.txt of an origin whose record
// is in memory and in force, that record is used.
//
// A fetch that has not had a slot yet is canceled when no request waits for it
// any longer. In this case, no request was sent, and no state is kept. A fetch
// that has had a slot continues even if no request waits for it any longer, and
// its result is kept. A refresh also continues without a waiting request.
// However, a fetch or refresh for which no request waits is dropped if its next
// slot is more than ten minutes away. If a redirect leads to a host that is not
// due, the fetch is delayed until that host is due.
//
// A server may begin to send a robots.txt and never finish. Fetches that no
// request waits for may together take half of MaxBytes. Beyond that, the oldest
// of these fetches are canceled; the newest always continues. A canceled fetch
// changes no record, and the next request to its origin begins a new fetch. A
// fetch that a request waits for is never canceled. Each can take about 500
// KiB, so MaxBytes may be exceeded by that much for each waiting request.
//
// If the fetch would have to wait beyond a request's deadline, the request
// fails at once with a *politeness.DelayError. The origin does not count as
// unreachable because of such an error.
type Checker struct {
	cfg    *config
	loader *load.Loader
}

// NewChecker returns a Checker with these options. The Checker fetches only
// robots.txt files. It is for programs that plan a crawl but fetch no pages. A
// crawler that fetches pages by other means than an http.Client, such as a
// browser, should use Transport.Admit, which also waits for the host's delay.
// If an option is invalid, the error contains its name and the valid values.
func NewChecker(opts Options) (*Checker, error) {
	cfg, err := opts.config()
	if err != nil {
		return nil, err
	}
	return newChecker(cfg), nil
}

func newChecker(cfg *config) *Checker {
	c := &Checker{cfg: cfg}
	lc := load.Config{
		Base:        cfg.sender,
		UserAgent:   cfg.UserAgent,
		Timeout:     cfg.RobotsTimeout,
		Detect:      cfg.Refusals.OfPage,
		Kind:        &record.Kind{UserAgent: cfg.UserAgent, Tokens: cfg.tokens, KeepFiles: cfg.KeepFiles, DisallowForbidden: cfg.DisallowForbidden},
		Store:       cfg.Store,
		Override:    cfg.overrides,
		MaxOrigins:  cfg.MaxOrigins,
		MaxBytes:    cfg.MaxBytes,
		Logger:      cfg.Logger,
		Fetched:     c.fetched,
		Recalled:    c.loaded,
		StoreFailed: c.storeFailed,
	}
	if cfg.Limiter != nil {
		lc.Delay = cfg.Limiter.Delay
	}
	if asked := cfg.Observer.Asked; asked != nil {
		lc.Asked = func(robotsURL string, resp *http.Response, body []byte, err error) {
			defer c.recoverFrom("Observer.Asked")
			asked(context.Background(), robotsURL, resp, body, err)
		}
	}
	if read := cfg.Observer.Read; read != nil {
		lc.Kind.Read = func(hash [sha256.Size]byte, body []byte) {
			defer c.recoverFrom("Observer.Read")
			read(context.Background(), hex.EncodeToString(hash[:]), body)
		}
	}
	c.loader = load.New(lc)
	return c
}

func (c *Checker) fetched(lf load.Fetch) {
	f := newFetch(lf)
	c.cfg.Logger.Debug("robots.txt fetched", "url", f.URL, "status", f.Status,
		"renewed", f.Renewed, "duration", f.Duration, "cause", f.Cause, slog.Time("next", f.Next))
	if o := c.cfg.Observer; o.Fetched != nil {
		defer c.recoverFrom("Observer.Fetched")
		o.Fetched(context.Background(), f)
	}
}

func (c *Checker) loaded(lf load.Fetch) {
	if o := c.cfg.Observer; o.Loaded != nil {
		defer c.recoverFrom("Observer.Loaded")
		o.Loaded(context.Background(), newFetch(lf))
	}
}

func (c *Checker) storeFailed(op string, err error) {
	c.cfg.Logger.Warn("robotsmw: the Store failed, so robots.txt may be fetched again", "op", op, "error", err)
	if o := c.cfg.Observer; o.StoreFailed != nil {
		defer c.recoverFrom("Observer.StoreFailed")
		o.StoreFailed(context.Background(), op, err)
	}
}

// recoverFrom logs a panic in a function of the Observer. Without it, the panic
// would count as a failed fetch, or end the program.
func (c *Checker) recoverFrom(what string) {
	if p := recover(); p != nil {
		c.cfg.Logger.Error("robotsmw: panic in "+what, "panic", p, "stack", string(debug.Stack()))
	}
}

// Tokens returns the product tokens for which robots.txt is read, in order of
// preference.
func (c *Checker) Tokens() []string { return slices.Clone(c.cfg.tokens) }

// Check decides whether u may be fetched, with GET or any other method. If the
// robots.txt of u's origin must be fetched first, Check fetches the file or
// joins a running fetch. Check does not wait beyond the end of ctx.
//
// If robots.txt is unreachable, Check returns a Decision with the Reason
// Unreachable, and no error. There is an error only in these cases:
//
//   - u is not an absolute URL, its host or port is not valid, or its Opaque is
//     neither a path nor a URL of the same origin.
//   - ctx ended before robots.txt was known. The error wraps ctx's error.
//   - the fetch of robots.txt would have to wait beyond ctx's deadline, or
//     longer than the Limiter allows. The error is a *politeness.DelayError.
//   - a politeness.Transport in Options.Base has an invalid Limiter. The error
//     wraps politeness.ErrInvalidLimiter.
//
// # What is judged is what is sent
//
// An origin is a scheme, a host and a port: http and https on one host are two
// origins. ftp is an origin too. If Options.Base cannot fetch ftp URLs, their
// robots.txt is unreachable. URLs of other schemes are allowed, because
// robots.txt does not apply to them. All spellings of a host are one host (see
// politeness.HostKey). A request is sent with the Host that robots.txt was
// fetched with: the URL's host, unless the request has another Host, which is
// another origin at the same address. A request whose target names another
// authority (URL.Opaque, or a path in absolute form) is an error. A host that
// is longer than a name in the DNS can be is an error too. The length is
// checked first, so such a name is neither converted nor stored.
//
// Some servers treat different paths as equivalent. For example, they treat
// /x/%2e%2e/private/ and //private/ like /private/. Therefore a path is judged
// in three forms: unchanged; with its dot segments resolved (RFC 3986 §5.2.4)
// and then its empty segments merged; and with these two steps in the other
// order. The URL is disallowed if any of the three is. Decision.Resolved
// contains the disallowed form, if it differs from the unchanged one. %2F is
// not a slash (RFC 9309 §2.2.2). Semicolons, backslashes, letter case and the
// query are not changed. robotstxt.Rules.MatchResolved judges all three forms.
// robotstxt.Rules.Match judges only the form that it is given.
func (c *Checker) Check(ctx context.Context, u *url.URL) (Decision, error) {
	var d Decision
	var buf [128]byte
	name, err := appendOrigin(buf[:0], u, "")
	if err != nil {
		return d, &url.Error{Op: "Check", URL: cut(u.Redacted(), 700), Err: err}
	}
	_, err = c.decide(ctx, name, u, &d, nil)
	return d, err
}

// appendOrigin appends to buf the origin of a request, and checks the request's
// target. It appends nothing if robots.txt does not apply to the scheme.
func appendOrigin(buf []byte, u *url.URL, host string) ([]byte, error) {
	if u == nil {
		return nil, errors.New("robotsmw: the URL is nil")
	}
	name, err := origin.Append(buf, u, host)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme == "":
		return nil, errors.New("robotsmw: the URL has no scheme: use an absolute URL")
	case !origin.HasPlainTarget(u) && len(name) > 0:
		return name, origin.CheckTarget(u, host)
	}
	return name, nil
}

// decide fills d, which must be zero, with the decision about u, a URL of the
// origin with this name. decide returns the record that the decision is based
// on, or nil if judgeWithoutRecord decided. If there is an error, d stays zero.
//
// pin is not nil if the URL will be checked again later. decide then sets *pin,
// which keeps the origin in memory until the caller releases it. If there is an
// error, or if judgeWithoutRecord decided, *pin stays zero.
func (c *Checker) decide(ctx context.Context, name []byte, u *url.URL, d *Decision, pin *load.Pin) (rec *record.Record, err error) {
	if !c.judgeWithoutRecord(d, u, name) {
		var now time.Time
		if pin == nil {
			rec, now, err = c.loader.Load(ctx, name)
		} else {
			rec, now, *pin, err = c.loader.LoadPinned(ctx, name)
		}
		if err != nil {
			return nil, err
		}
		c.judge(d, u, rec, now)
	}
	c.decided(ctx, d)
	return rec, nil
}

// judgeWithoutRecord decides about u, a URL of the origin with this name, if no
// record of the origin is needed, and fills d with the decision. Otherwise it
// returns false. d must be zero.
func (c *Checker) judgeWithoutRecord(d *Decision, u *url.URL, name []byte) bool {
	switch override := c.loader.Override(name); {
	case len(name) == 0:
		allow(d, u, NotApplicable)
	case override != nil:
		c.judge(d, u, override, time.Now())
	case isRobotsTxt(u):
		allow(d, u, IsRobotsTxt)
	default:
		return false
	}
	return true
}

// allow fills d with the decision to allow u now, for a reason that needs no
// record.
func allow(d *Decision, u *url.URL, reason Reason) {
	d.URL = u
	d.Allowed = true
	d.Reason = reason
	d.Time = time.Now()
}

// isRobotsTxt reports whether u is the URL of its origin's robots.txt.
func isRobotsTxt(u *url.URL) bool {
	hasQuery := u.RawQuery != "" || u.ForceQuery
	return u.Path == "/robots.txt" && !hasQuery && origin.HasPlainTarget(u)
}

func (c *Checker) decided(ctx context.Context, d *Decision) {
	if o := c.cfg.Observer; o.Decided != nil {
		o.Decided(ctx, *d)
	}
}

// judge uses rec to decide whether u may be fetched, and fills d with the
// decision. d must be zero.
func (c *Checker) judge(d *Decision, u *url.URL, rec *record.Record, now time.Time) {
	d.URL = u
	d.RobotsURL = rec.URL
	d.Status = int(rec.Status)
	d.doc = rec.Doc
	d.Time = now
	d.Fetched = rec.Fetched
	d.Expires = rec.Expires
	if f := rec.Failure; f != nil {
		d.Cause = f.Cause
		d.FailedSince = f.Since
		d.NextTry = f.Retry
		d.Stale = rec.State == record.Good && rec.Expired(now)
	}
	switch rec.InForce(now) {
	case record.Good, record.Override:
		var buf [128]byte
		var m robotstxt.Match
		m, d.Resolved = rec.Doc.Rules.MatchResolved(target(buf[:0], u)) // the results share no memory with the target
		d.Allowed = m.Allowed
		d.Reason = fromMatch[m.Reason]
		d.Kind = m.Kind
		d.Rule = m.Pattern
		d.Line = m.Line
		d.Group = m.Group
		d.CrawlDelay, _ = rec.Doc.Rules.CrawlDelay()
	case record.Unavailable:
		d.Allowed = true
		d.Reason = Unavailable
	case record.Forbidden:
		d.Reason = Forbidden
	case record.None:
		d.Reason = Unreachable
		d.Status = rec.Failure.Status
		d.err = rec.Failure.Err
		d.Fetched = time.Time{}
		d.Expires = rec.Failure.Retry
		d.Allowed = c.cfg.AllowAfter30Days && rec.Failure.Last.Sub(rec.Failure.Since) >= record.ThirtyDays
	}
}

// target returns the text that rules are matched with: the path and the query
// as they are sent, neither decoded nor reordered. A "#" in them is written as
// "%23", because it does not begin a fragment: net/http sends it. The text may
// share memory with buf, which saves an allocation, and is valid only until buf
// is used again.
func target(buf []byte, u *url.URL) string {
	if u.Opaque != "" || u.RawQuery == "" {
		return strings.ReplaceAll(u.RequestURI(), "#", "%23")
	}
	path := cmp.Or(u.EscapedPath(), "/")
	buf = append(append(append(buf, path...), '?'), strings.ReplaceAll(u.RawQuery, "#", "%23")...)
	return unsafe.String(unsafe.SliceData(buf), len(buf))
}

// Stats describes what a Checker has in memory.
type Stats struct {
	Origins int // origins in memory, without those whose fetch is under way

	// Bytes is the approximate size of all records in memory, including what
	// the fetches under way have read.
	Bytes int64
}

// Stats returns how much the Checker holds in memory now.
func (c *Checker) Stats() Stats {
	var s Stats
	s.Origins, s.Bytes = c.loader.Size()
	return s
}
