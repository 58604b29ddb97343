package load

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/fetch"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

// maxRedirects is how many redirects are followed before the file counts as
// unavailable (RFC 9309 §2.3.1.2).
const maxRedirects = 5

// fetch fetches the origin's robots.txt, follows redirects, and creates the
// origin's new record from the response (RFC 9309 §2.3.1). If fetch returns an
// error, the fetch has no result. The error is a *politeness.DelayError,
// [store.ErrElsewhere] or [cache.ErrNoRoom], or wraps
// [politeness.ErrInvalidLimiter]. If lock is not nil, the first request is sent
// only if the lock is valid for long enough. If releases is true, the lock is
// released while the host is paused.
func (l *Loader) fetch(
	f *cache.Flight, prev *record.Record, lock *store.Lock, releases bool,
) (Fetch, error) {
	start := time.Now()
	done, err := l.follow(f, prev, lock, releases)
	if err != nil {
		return Fetch{}, err
	}
	done.URL = f.RobotsURL
	done.Duration = time.Since(start)
	if done.Record.Failure == nil {
		done.Record.Outlast(l.cfg.Delay)
	}
	if failure := done.Record.Failure; done.Shared || failure == nil || failure.Delay == nil {
		l.cfg.Fetched(done)
	} else {
		f.UseCopy() // the limiter rejected the wait, so callers get the copy in done now
	}
	return done, nil
}

// follow sends a request to the origin, and then to the target of each
// redirect.
func (l *Loader) follow(
	f *cache.Flight, prev *record.Record, lock *store.Lock, releases bool,
) (Fetch, error) {
	u, host := origin.RobotsURL(f.Origin)
	seen := []string{requestKey(u, host)}
	for hops := 0; ; hops++ {
		q := l.question(f, u, host, prev)
		if hops == 0 && lock != nil {
			q.Check = lock.Check
			q.Expect = func(delay *politeness.DelayError) {
				f.Expect(delay)
				isLong := delay != nil && time.Until(delay.Until) > cache.ShortWait
				if releases && isLong {
					lock.Release()
				}
			}
		}
		ans, err := l.answerTo(q)
		now := time.Now()
		if hasNoResult(err) {
			ans.Release()
			return Fetch{}, err
		}
		if hops == 0 && isDelay(err) && !canServe(prev, err, now) {
			ans.Release()
			return Fetch{}, err
		}
		if err != nil {
			rec := prev.AfterError(f.RobotsURL, now, ans.Status, err, ans.RetryAfter(now))
			return Fetch{Record: rec, release: ans.Release}, nil
		}
		if !ans.IsRedirect() || ans.Refusal != "" {
			done := l.result(f, u, host, hops, prev, ans, now)
			done.release = ans.Release
			return done, nil
		}
		next, ok := ans.RedirectURL(u)
		if ans.NamesHost() {
			host = ""
		}
		if !ok || hops == maxRedirects || slices.Contains(seen, requestKey(next, host)) {
			rec := l.withoutFile(f, ans.Status, hops, record.LoopLifetime, now)
			return Fetch{Record: rec, release: ans.Release}, nil
		}
		if rec := l.known(f, next, host, hops+1, now); rec != nil {
			return Fetch{Record: rec, Shared: true, release: ans.Release}, nil
		}
		ans.Release() // the next request may be to the same host
		seen = append(seen, requestKey(next, host))
		u = next
	}
}

// answerTo sends a question. If the status is 412, which concerns the
// validators and not the file, answerTo sends the question again without
// validators.
func (l *Loader) answerTo(q fetch.Question) (fetch.Answer, error) {
	ans, err := l.client.Ask(q)
	if err != nil {
		return ans, err
	}
	if ans.Conditional && ans.Status == http.StatusPreconditionFailed {
		ans.Release()
		q.ETag = ""
		q.LastModified = ""
		q.Check = nil
		return l.client.Ask(q)
	}
	return ans, err
}

// result returns the result of a fetch whose last response, ans, is not a
// redirect. ans was received from u with this Host after this many redirects.
func (l *Loader) result(
	f *cache.Flight, u *url.URL, host string, hops int,
	prev *record.Record, ans fetch.Answer, now time.Time,
) Fetch {
	failed := func(cause string) Fetch {
		return Fetch{Record: prev.Failed(f.RobotsURL, now, ans.Status, cause, ans.RetryAfter(now))}
	}
	isClientError := ans.Status >= 400 && ans.Status <= 499
	switch {
	case ans.Refusal != "":
		return failed(ans.Refusal)
	case ans.Status == http.StatusNotModified && ans.Conditional:
		return Fetch{Record: prev.Renewed(ans.Header, now), Renewed: true}
	case ans.Status >= 200 && ans.Status <= 299:
		return Fetch{Record: l.accepted(f, u, host, hops, ans, now), Body: ans.Body}
	case !isClientError || httpstatus.IsThrottled(ans.Status):
		return failed(ans.StatusText())
	}
	return Fetch{Record: l.withoutFile(f, ans.Status, hops, lifetime(ans, now), now)}
}

// question returns one question of a flight, with the validators that the
// record prev has for u and host.
func (l *Loader) question(
	f *cache.Flight, u *url.URL, host string, prev *record.Record,
) fetch.Question {
	q := fetch.Question{URL: u, Host: host, Context: f.Context(), Expect: f.Expect}
	q.Holds = func(bytes int64) { l.cache.Holds(f, bytes, time.Now()) }
	own, _ := origin.RobotsURL(f.Origin)
	q.InTurn = u.Hostname() != own.Hostname()
	if l.cfg.Asked != nil {
		q.Answered = func(resp *http.Response, body []byte, err error) {
			if !isUnsent(err) {
				l.cfg.Asked(f.RobotsURL, resp, body, err)
			}
		}
	}
	if src := prev.Validates(u.String(), host); src != nil {
		q.ETag = src.ETag
		q.LastModified = src.LastModified
	}
	return q
}

func lifetime(ans fetch.Answer, now time.Time) time.Duration {
	d, _ := record.Lifetime(ans.Header, now)
	return d
}

// hasNoResult reports whether err indicates nothing about the origin, so that
// its record stays unchanged.
func hasNoResult(err error) bool {
	return errors.Is(err, store.ErrElsewhere) ||
		errors.Is(err, politeness.ErrInvalidLimiter) ||
		errors.Is(err, cache.ErrNoRoom)
}

// isDelay reports whether the limiter rejected the wait. If so, no request was
// sent, and the error indicates nothing about the origin.
func isDelay(err error) bool {
	_, ok := errors.AsType[*politeness.DelayError](err)
	return ok
}

// isUnsent reports whether err indicates that no request was sent.
func isUnsent(err error) bool {
	return isDelay(err) ||
		errors.Is(err, store.ErrElsewhere) ||
		errors.Is(err, politeness.ErrInvalidLimiter)
}

// canServe reports whether the limiter rejected a wait of more than
// cache.ShortWait, during which prev can be used.
func canServe(prev *record.Record, err error, now time.Time) bool {
	delay, ok := errors.AsType[*politeness.DelayError](err)
	if !ok || prev == nil {
		return false
	}
	isLong := delay.Until.Sub(now) > cache.ShortWait
	canUse := prev.State == record.Good || !prev.Expired(now)
	return isLong && canUse
}

// accepted returns the record for a response with status 2xx.
func (l *Loader) accepted(
	f *cache.Flight, from *url.URL, host string, hops int, ans fetch.Answer, now time.Time,
) *record.Record {
	src := record.Source{
		Host:         host,
		ETag:         record.Validator(ans.Header.Get("ETag")),
		LastModified: record.Validator(ans.Header.Get("Last-Modified")),
	}
	if s := from.String(); s != f.RobotsURL {
		src.URL = s
	}
	rec := &record.Record{
		URL:     f.RobotsURL,
		State:   record.Good,
		Hops:    uint8(hops),
		Status:  int16(ans.Status),
		Doc:     l.cfg.Kind.Document(ans.Body),
		Fetched: now,
		Expires: now.Add(lifetime(ans, now)),
	}
	if src != (record.Source{}) {
		rec.Source = &src
	}
	return rec
}

// withoutFile returns the record of an origin without a robots.txt.
func (l *Loader) withoutFile(
	f *cache.Flight, status, hops int, lifetime time.Duration, now time.Time,
) *record.Record {
	return &record.Record{
		URL:     f.RobotsURL,
		State:   l.cfg.Kind.WithoutFile(status),
		Hops:    uint8(hops),
		Status:  int16(status),
		Fetched: now,
		Expires: now.Add(lifetime),
	}
}

// known returns a record for a flight that was redirected to u. If u is the
// robots.txt of another origin, and memory has a record of that origin that is
// in force and not due for a refresh, the result is a copy of that record,
// which expires at the same time. Otherwise, the result is nil.
func (l *Loader) known(
	f *cache.Flight, u *url.URL, host string, hops int, now time.Time,
) *record.Record {
	name, _ := origin.Of(u, host)
	if own, ownHost := origin.RobotsURL(name); host != ownHost || u.String() != own.String() {
		return nil
	}
	other := l.cache.Get([]byte(name))
	canUse := other.Use(now).AsIs() && other.InForce(now) != record.None
	if !canUse || hops+int(other.Hops) > maxRedirects {
		return nil
	}
	rec := *other
	rec.URL = f.RobotsURL
	rec.Hops += uint8(hops)
	if src := *other.From(); rec.Doc != nil && src.URL == "" {
		src.URL = other.URL
		rec.Source = &src
	}
	return &rec
}

// requestKey returns the same key for all spellings of a request.
func requestKey(u *url.URL, host string) string {
	name, _ := origin.Of(u, host)
	return name + " " + u.RequestURI()
}
