package load

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/fetch"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

// ask asks the origin for its robots.txt, follows redirects, and makes the
// origin's new record from the answer (RFC 9309 §2.3.1). It also returns the
// robots.txt, if one was fetched now. The lock is taken for each request,
// unless it is nil. A panic, such as one in Base, counts as a failed fetch. If
// there is an error, it is a *politeness.DelayError or [store.ErrElsewhere],
// and this fetch has no result.
func (l *Loader) ask(f *cache.Flight, prev *record.Record, lock *store.Lock) (rec *record.Record, body []byte, err error) {
	event, start := Fetch{URL: f.RobotsURL}, time.Now()
	defer func() {
		if p := recover(); p != nil {
			rec, body, err = l.panicked(f, prev, p), nil, nil
		}
		if rec != nil && (rec.Failure == nil || rec.Failure.Delay == nil) {
			event.Record, event.Duration = rec, time.Since(start)
			l.fetched(event)
		}
	}()

	u, host := origin.RobotsURL(f.Origin)
	seen := []string{requestKey(u, host)}
	for hops := 0; ; hops++ {
		ans, err := l.put(f, u, host, prev, lock)
		if err == nil && ans.Conditional && ans.Status == http.StatusPreconditionFailed {
			// The answer is about our validators, not about the file. So ask
			// without validators.
			ans, err = l.put(f, u, host, nil, lock)
		}
		now := time.Now()
		event.Bytes += len(ans.Body)
		switch {
		case errors.Is(err, store.ErrElsewhere), err != nil && hops == 0 && isDelay(err) && !rests(prev, err, now):
			return nil, nil, err
		case err != nil:
			return prev.AfterError(f.RobotsURL, now, ans.Status, err, ans.RetryAfter(now)), nil, nil
		}
		switch {
		case ans.Refusal != "":
			return prev.Failed(f.RobotsURL, now, ans.Status, ans.Refusal, ans.RetryAfter(now)), nil, nil
		case ans.Status == http.StatusNotModified && ans.Conditional:
			event.Renewed = true
			return prev.Renewed(ans.Header, now), nil, nil
		case ans.Status >= 200 && ans.Status <= 299:
			return l.accepted(f, u, host, hops, ans, now), ans.Body, nil
		case ans.IsRedirect():
			// handled below
		case ans.Status == http.StatusTooManyRequests || ans.Status < 400 || ans.Status > 499:
			return prev.Failed(f.RobotsURL, now, ans.Status, ans.StatusText(), ans.RetryAfter(now)), nil, nil
		default:
			return l.withoutFile(f, ans.Status, hops, lifetime(ans, now), now), nil, nil
		}

		next, ok := ans.Target(u)
		if ans.NamesHost() {
			host = ""
		}
		if !ok || hops == l.cfg.MaxRedirects || slices.Contains(seen, requestKey(next, host)) {
			return l.withoutFile(f, ans.Status, hops, record.LoopLifetime, now), nil, nil
		}
		seen = append(seen, requestKey(next, host))
		if name, ok := l.isOriginFile(next, host); ok && name != f.Origin {
			other, loop, err := l.follow(f, name)
			switch {
			case loop:
				return l.withoutFile(f, ans.Status, hops, record.LoopLifetime, now), nil, nil
			case err != nil:
				return prev.AfterError(f.RobotsURL, now, ans.Status, err, 0), nil, nil
			case other != nil:
				return l.redirected(f, prev, other, hops+1, ans.Status), nil, nil
			}
			// The method "follow" has returned no record, so this flight asks
			// the other origin itself.
		}
		u = next
	}
}

// put sends one question of a flight, with the validators that the record prev
// has for u and host. If the flight was dropped, the error is the flight's
// DelayError.
func (l *Loader) put(f *cache.Flight, u *url.URL, host string, prev *record.Record, lock *store.Lock) (fetch.Answer, error) {
	q := fetch.Question{URL: u, Host: host, Context: f.Context(), Expect: f.Expect}
	if l.cfg.Asked != nil {
		q.Answered = func(resp *http.Response, body []byte, err error) {
			if err = orDropped(f, err); !isDelay(err) && !errors.Is(err, store.ErrElsewhere) { // otherwise nothing was sent
				l.cfg.Asked(f.RobotsURL, resp, body, err)
			}
		}
	}
	if lock != nil {
		q.Expect = func(until time.Time) {
			f.Expect(until)
			if time.Until(until) > cache.ShortWait {
				lock.Release()
			}
		}
		q.Granted = func() error { return lock.Take(cache.ShortWait) }
	}
	if src := prev.Validates(u.String(), host); src != nil {
		q.ETag, q.LastModified = src.ETag, src.LastModified
	}
	ans, err := l.client.Ask(q)
	return ans, orDropped(f, err)
}

// orDropped returns err, the error of a question that the flight f has asked.
// If the question failed because f was dropped, orDropped returns the
// DelayError of f instead.
func orDropped(f *cache.Flight, err error) error {
	if delay, _ := f.Dropped(); err != nil && delay != nil {
		return delay
	}
	return err
}

func lifetime(ans fetch.Answer, now time.Time) time.Duration {
	d, _ := record.Lifetime(ans.Header, now)
	return d
}

// isDelay reports whether the limiter refused the wait. If so, nothing was
// sent, and the error says nothing about the origin.
func isDelay(err error) bool {
	_, ok := errors.AsType[*politeness.DelayError](err)
	return ok
}

// rests reports whether two things are true: the limiter refused a wait of more
// than cache.ShortWait, and there is a record that can serve in the meantime.
func rests(prev *record.Record, err error, now time.Time) bool {
	delay, ok := errors.AsType[*politeness.DelayError](err)
	return ok && delay.Until.Sub(now) > cache.ShortWait && prev != nil && (prev.State == record.Good || !prev.Expired(now))
}

// accepted returns the record of a 2xx answer.
func (l *Loader) accepted(f *cache.Flight, from *url.URL, host string, hops int, ans fetch.Answer, now time.Time) *record.Record {
	src := record.Source{
		Host:         host,
		ETag:         record.Validator(ans.Header.Get("ETag")),
		LastModified: record.Validator(ans.Header.Get("Last-Modified")),
	}
	if s := from.String(); s != f.RobotsURL {
		src.URL = s
	}
	rec := &record.Record{
		URL: f.RobotsURL, State: record.Good, Hops: uint8(min(hops, 255)), Status: int16(ans.Status),
		Doc: l.cfg.Kind.Document(ans.Body), Fetched: now, Expires: now.Add(lifetime(ans, now)),
	}
	if src != (record.Source{}) {
		rec.Source = &src
	}
	return rec
}

// withoutFile returns the record of an origin without a robots.txt.
func (l *Loader) withoutFile(f *cache.Flight, status, hops int, lifetime time.Duration, now time.Time) *record.Record {
	return &record.Record{
		URL: f.RobotsURL, State: l.cfg.Kind.WithoutFile(status), Hops: uint8(min(hops, 255)), Status: int16(status),
		Fetched: now, Expires: now.Add(lifetime),
	}
}

// redirected returns the record of an origin whose robots.txt redirects to the
// robots.txt of another origin. The record is a copy of the other origin's
// record, fresh or stale, and expires at the same time. If the other origin is
// unreachable, this origin is unreachable too, until the other origin is tried
// again. If the two fetches together have followed too many redirects, this
// origin has no robots.txt.
func (l *Loader) redirected(f *cache.Flight, prev, other *record.Record, hops, status int) *record.Record {
	now := time.Now()
	switch {
	case other.InForce(now) == record.None: // must come before the case of other.Hops, which may be from an older answer
		why := other.Failure
		if why.Delay != nil {
			return prev.Delayed(f.RobotsURL, now, why.Delay)
		}
		return prev.Failed(f.RobotsURL, now, why.Status, why.Cause, why.Retry.Sub(now))
	case hops+int(other.Hops) > l.cfg.MaxRedirects:
		return l.withoutFile(f, status, hops, record.LoopLifetime, now)
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

// isOriginFile reports whether a URL and a Host are the address of an origin's
// own robots.txt, and returns that origin. An origin with an override does not
// count, because it has no fetch of its own.
func (l *Loader) isOriginFile(u *url.URL, host string) (name string, ok bool) {
	name, err := origin.Of(u, host)
	if err != nil || l.overrides[name] != nil {
		return "", false
	}
	own, ownHost := origin.RobotsURL(name)
	return name, host == ownHost && u.Path == own.Path && u.RawPath == "" && u.RawQuery == "" && !u.ForceQuery
}

// requestKey returns the same key for all spellings of a request.
func requestKey(u *url.URL, host string) string {
	name, _ := origin.Of(u, host)
	return name + " " + u.RequestURI()
}
