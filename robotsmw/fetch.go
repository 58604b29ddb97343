package robotsmw

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// fetch asks the origin for its robots.txt, follows redirects, and makes the
// next record of the answer (RFC 9309 §2.3.1). The error is a
// *politeness.DelayError: nothing was asked, so nothing is known.
func (c *Checker) fetch(f *cache.Flight, prev *record.Record) (rec *record.Record, body []byte, err error) {
	event := Fetch{Origin: f.Origin, URL: f.RobotsURL, Started: time.Now()}
	defer func() {
		if rec != nil && (rec.Failure == nil || rec.Failure.Delay == nil) {
			event.finish(rec, time.Now())
			c.observeFetch(event)
		}
	}()

	u, host := origin.RobotsURL(f.Origin)
	seen := []string{requestKey(u, host)}
	for hops := 0; ; hops++ {
		ans, err := c.get(f, u, host, prev)
		if err == nil && ans.conditional && ans.status == http.StatusPreconditionFailed {
			// The answer is about our question, not about the file: ask plainly.
			ans, err = c.get(f, u, host, nil)
		}
		now := time.Now()
		event.Bytes += len(ans.body)
		switch {
		case err != nil && hops == 0 && isDelay(err):
			return nil, nil, err
		case err != nil:
			return prev.AfterError(f.RobotsURL, now, ans.status, err, ans.retryAfter(now)), nil, nil
		}
		switch {
		case ans.status == http.StatusNotModified && ans.conditional:
			event.Renewed = true
			return prev.Renewed(ans.header, now), nil, nil
		case ans.status >= 200 && ans.status <= 299:
			return c.accepted(f, u, hops, ans, now), ans.body, nil
		case isRedirect(ans.status):
			// below
		case ans.status == http.StatusTooManyRequests || ans.status < 400 || ans.status > 499:
			return prev.Failed(f.RobotsURL, now, ans.status, ans.statusText(), ans.retryAfter(now)), nil, nil
		default:
			return c.withoutFile(f, ans.status, hops, ans.lifetime(now), now), nil, nil
		}

		next, ok := redirectTarget(u, ans.header)
		if namesHost(ans.header) {
			host = ""
		}
		if !ok || hops == c.cfg.MaxRedirects || slices.Contains(seen, requestKey(next, host)) {
			return c.withoutFile(f, ans.status, hops, record.LoopLifetime, now), nil, nil
		}
		seen = append(seen, requestKey(next, host))
		if name, ok := c.isOriginFile(next, host); ok && name != f.Origin {
			other, loop, err := c.follow(f, name)
			switch {
			case loop:
				return c.withoutFile(f, ans.status, hops, record.LoopLifetime, now), nil, nil
			case err != nil:
				return prev.AfterError(f.RobotsURL, now, ans.status, err, 0), nil, nil
			case other != nil:
				return c.redirected(f, prev, other, hops+1, ans.status), nil, nil
			}
			// That origin gets no flight of its own now: ask it here.
		}
		u = next
	}
}

// isDelay reports that the limiter refused the wait: nothing was sent, so
// nothing is known of the origin.
func isDelay(err error) bool {
	_, ok := errors.AsType[*politeness.DelayError](err)
	return ok
}

// accepted is the record of a 2xx answer.
func (c *Checker) accepted(f *cache.Flight, from *url.URL, hops int, ans answer, now time.Time) *record.Record {
	src := record.Source{
		ETag:         record.Validator(ans.header.Get("ETag")),
		LastModified: record.Validator(ans.header.Get("Last-Modified")),
	}
	if s := from.String(); s != f.RobotsURL {
		src.URL = s
	}
	rec := &record.Record{
		URL: f.RobotsURL, State: record.Good, Hops: uint8(min(hops, 255)), Status: int16(ans.status),
		Doc: c.kind.Document(ans.body), Fetched: now, Expires: now.Add(ans.lifetime(now)),
	}
	if src != (record.Source{}) {
		rec.Source = &src
	}
	return rec
}

// withoutFile is the record of an origin that has no robots.txt to read.
func (c *Checker) withoutFile(f *cache.Flight, status, hops int, lifetime time.Duration, now time.Time) *record.Record {
	return &record.Record{
		URL: f.RobotsURL, State: c.kind.WithoutFile(status), Hops: uint8(min(hops, 255)), Status: int16(status),
		Fetched: now, Expires: now.Add(lifetime),
	}
}

// redirected is the record of an origin whose robots.txt redirects to that
// of another: what the other has, for as long as the other has it, stale or
// not; and where that cannot be had anew, its next try is this one's too.
func (c *Checker) redirected(f *cache.Flight, prev, other *record.Record, hops, status int) *record.Record {
	now := time.Now()
	switch {
	case hops+int(other.Hops) > c.cfg.MaxRedirects:
		return c.withoutFile(f, status, hops, record.LoopLifetime, now)
	case other.InForce(now) == record.None:
		why := other.Failure
		if why.Delay != nil {
			return prev.Delayed(f.RobotsURL, now, why.Delay)
		}
		return prev.Failed(f.RobotsURL, now, why.Status, why.Cause, why.Retry.Sub(now))
	default:
		rec := *other
		rec.URL = f.RobotsURL
		rec.Hops += uint8(hops)
		if rec.Doc != nil && rec.From().URL == "" {
			src := *rec.From()
			src.URL = other.URL
			rec.Source = &src
		}
		return &rec
	}
}

// isOriginFile reports whether u is the robots.txt of an origin, as that
// origin's own fetch would ask for it.
func (c *Checker) isOriginFile(u *url.URL, host string) (name string, ok bool) {
	name, err := origin.Of(u, host)
	if err != nil || c.overrides[name] != nil {
		return "", false
	}
	own, ownHost := origin.RobotsURL(name)
	return name, host == ownHost && u.Path == own.Path && u.RawPath == "" && u.RawQuery == "" && !u.ForceQuery
}

// requestKey is the same for all spellings of one request.
func requestKey(u *url.URL, host string) string {
	name, _ := origin.Of(u, host)
	return name + " " + u.RequestURI()
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirectTarget is where a redirect leads, if that is somewhere over http
// or https. User names and passwords are not passed on.
func redirectTarget(from *url.URL, h http.Header) (*url.URL, bool) {
	loc := h.Get("Location")
	if loc == "" {
		return nil, false
	}
	u, err := from.Parse(loc)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	if _, err := origin.Of(u, ""); err != nil {
		return nil, false
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true
}

// namesHost reports whether a Location says which host to ask, rather than
// being relative to the one that answered.
func namesHost(h http.Header) bool {
	u, err := url.Parse(h.Get("Location"))
	return err == nil && u.Host != ""
}

// answer is one response to a robots.txt request.
type answer struct {
	status      int
	header      http.Header
	body        []byte // of a 2xx, decoded, at most one octet more than is read of a file
	conditional bool   // validators were sent
}

func (a answer) lifetime(now time.Time) time.Duration {
	d, _ := record.Lifetime(a.header, now)
	return d
}

func (a answer) retryAfter(now time.Time) time.Duration {
	d, _ := politeness.RetryAfter(a.header, now)
	return d
}

func (a answer) statusText() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", a.status, http.StatusText(a.status)))
}

// get sends one request and reads its body if that is a robots.txt. The
// request is the same whoever asks: no cookie, no header of a caller's, no
// context of a caller's. Its time runs from the end of its wait for a slot.
func (c *Checker) get(f *cache.Flight, u *url.URL, host string, prev *record.Record) (ans answer, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	timeout := c.cfg.RobotsTimeout
	timer := time.AfterFunc(timeout, func() {
		cancel(fmt.Errorf("no whole robots.txt within %v", timeout))
	})
	defer timer.Stop()
	defer f.Expect(time.Time{})
	ctx = politeness.WithCrawlDelay(ctx, politeness.Exempt)
	ctx = politeness.WithTrace(ctx, &politeness.Trace{
		Queued:  func(until time.Time) { timer.Stop(); f.Expect(until) },
		Granted: func(time.Time) { timer.Reset(timeout); f.Expect(time.Time{}) },
	})
	req := (&http.Request{
		Method: http.MethodGet, URL: u, Host: host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"User-Agent": {c.cfg.UserAgent},
			"Accept":     {"text/plain, */*;q=0.5"},
		},
	}).WithContext(ctx)
	if src := prev.Validates(u.String()); src != nil {
		if tag := src.ETag; tag != "" {
			req.Header.Set("If-None-Match", tag)
			ans.conditional = true
		}
		if mod := src.LastModified; mod != "" {
			req.Header.Set("If-Modified-Since", mod)
			ans.conditional = true
		}
	}

	resp, err := c.cfg.Base.RoundTrip(req)
	if err != nil {
		return ans, causeOf(ctx, err)
	}
	if resp == nil {
		return ans, errors.New("the transport returned neither a response nor an error")
	}
	ans.status, ans.header = resp.StatusCode, resp.Header
	if resp.Body == nil {
		return ans, nil
	}
	defer resp.Body.Close()
	if ans.status < 200 || ans.status > 299 {
		// A short body read to its end leaves the connection to the pages.
		if resp.ContentLength >= 0 && resp.ContentLength <= 2<<10 {
			io.CopyN(io.Discard, resp.Body, resp.ContentLength+1)
		}
		return ans, nil
	}
	body, err := decoded(resp)
	if err == nil {
		// One octet more tells the parser that the file goes on.
		ans.body, err = io.ReadAll(io.LimitReader(body, robotstxt.MaxSize+1))
	}
	if err != nil {
		return ans, causeOf(ctx, fmt.Errorf("reading robots.txt: %w", err))
	}
	return ans, nil
}

// causeOf says why a request failed: our own time limit, if that was it.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// decoded is the body without its content codings: http.Transport undoes
// only a gzip that it asked for itself.
func decoded(resp *http.Response) (io.Reader, error) {
	var r io.Reader = resp.Body
	if resp.Uncompressed {
		return r, nil
	}
	codings := strings.Split(strings.Join(resp.Header.Values("Content-Encoding"), ","), ",")
	if len(codings) > 3 {
		return nil, fmt.Errorf("%d content codings on one another", len(codings))
	}
	for _, coding := range slices.Backward(codings) {
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "", "identity":
		case "gzip", "x-gzip":
			z, err := gzip.NewReader(r)
			if err == io.EOF { // nothing at all, compressed or not
				return strings.NewReader(""), nil
			}
			if err != nil {
				return nil, fmt.Errorf("gzip: %w", err)
			}
			r = z
		case "deflate":
			// Most senders mean zlib, as the name was defined; some send
			// the bare format.
			b := bufio.NewReader(r)
			if h, _ := b.Peek(2); len(h) == 2 && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0 {
				z, err := zlib.NewReader(b)
				if err != nil {
					return nil, fmt.Errorf("deflate: %w", err)
				}
				r = z
			} else {
				r = flate.NewReader(b)
			}
		default:
			return nil, fmt.Errorf("unknown content coding %q", coding)
		}
	}
	return r, nil
}
