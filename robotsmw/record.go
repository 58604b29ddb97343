package robotsmw

import (
	"errors"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// thirtyDays is when an origin that could never be reached may be treated as
// one without rules (RFC 9309 §2.3.1.4), and how long a Store keeps records.
const thirtyDays = 30 * 24 * time.Hour

// clockSkew is how far the clocks of those who share a Store may be apart.
const clockSkew = time.Minute

// state is what is known of an origin's robots.txt.
type state uint8

const (
	stateNone        state = iota // nothing good was ever fetched
	stateGood                     // 2xx: rules
	stateUnavailable              // 4xx, or a redirect that leads nowhere: no rules
	stateForbidden                // 401 or 403 under DisallowForbidden
	stateOverride                 // Options.Override
)

// record is what is kept of an origin. It never changes once it is shared: a
// new fetch makes a new one.
type record struct {
	url     string // of the origin's robots.txt; "" for an override
	state   state
	hops    uint8     // redirects on the way
	status  int16     // of the response that state follows from; 0: none
	doc     *document // the robots.txt in force; nil: none
	source  *source   // nil: the origin's own /robots.txt, without a validator
	fetched time.Time
	expires time.Time
	failure *failure // nil: the latest fetch went well
}

// source is where a document came from, and what revalidates it.
type source struct {
	url          string // of the file, if not the origin's own /robots.txt
	etag         string
	lastModified string
}

// from is never nil.
func (r *record) from() *source {
	if r.source == nil {
		return new(source)
	}
	return r.source
}

// failure is a run of failed fetches.
type failure struct {
	since  time.Time // of the first
	last   time.Time // of the latest
	count  int
	status int       // 0: no response
	cause  string    // what went wrong last
	retry  time.Time // when the next fetch may be tried

	// delay: nothing failed, but a limiter refused the wait for the host
	// that the origin redirects to. Nil: it failed.
	delay *politeness.DelayError
}

// validates is the source whose validators may be sent to url: a validator
// is for where it came from alone. Nil: none.
func (r *record) validates(url string) *source {
	if r == nil || r.source == nil {
		return nil
	}
	if r.source.url == url || r.source.url == "" && r.url == url {
		return r.source
	}
	return nil
}

// inForce is the state that decides now. A good copy outlives failures; that
// there was no robots.txt is believed for its lifetime alone.
func (r *record) inForce(now time.Time) state {
	if r.state != stateGood && r.failure != nil && r.expired(now) {
		return stateNone
	}
	return r.state
}

// expired reports whether the answer's lifetime is over. A record that says
// it was fetched in the future was written under another clock: its age is
// not known, so it is over too.
func (r *record) expired(now time.Time) bool {
	switch r.state {
	case stateOverride:
		return false
	case stateNone:
		return true
	}
	return passed(r.expires, now) || r.fetched.After(now.Add(clockSkew))
}

// refreshable reports whether four fifths of the lifetime are over: a fetch
// in the background then spares every caller the wait at its end.
func (r *record) refreshable(now time.Time) bool {
	if r.state == stateOverride {
		return false
	}
	return passed(r.fetched.Add(r.expires.Sub(r.fetched)/5*4), now)
}

// waiting reports whether fetches fail and the next try is not due. A
// failure in the future is another clock's: its next try is due.
func (r *record) waiting(now time.Time) bool {
	return r.failure != nil && !passed(r.failure.retry, now) && !r.failure.last.After(now.Add(clockSkew))
}

// use says what a caller may do with a record now.
func (r *record) use(now time.Time) use {
	switch {
	case r == nil:
		return useFetch
	case r.calm(now):
		return useFresh
	case !r.expired(now):
		if !r.waiting(now) && (r.failure != nil || r.refreshable(now)) {
			return useAndRefresh
		}
		return useFresh
	case r.waiting(now):
		return useStale
	}
	return useFetch
}

// calm reports, of nearly every record that is fresh and at little cost, that it
// is: by both clocks of passed it was fetched already, and need not be refreshed.
// It counts in whole seconds, and leaves the last of them to the others.
func (r *record) calm(now time.Time) bool {
	fetched, s := r.fetched.Unix(), now.Unix()
	calm := (r.expires.Unix()-fetched)/5*4 - 1
	return r.failure == nil && fetched <= s && s < fetched+calm && now.Sub(r.fetched) < time.Duration(calm)*time.Second
}

type use uint8

const (
	useFetch      use = iota // wait for a fetch
	useFresh                 // as it is
	useStale                 // as it is: past its lifetime, or unreachable, and the next try is not due
	useAndRefresh            // as it is, and start a fetch in the background
)

// asIs reports whether no fetch is due.
func (u use) asIs() bool { return u == useFresh || u == useStale }

// failed is the record after one more failed fetch: what was good stays,
// until a fetch goes well.
func (r *record) failed(url string, now time.Time, status int, cause string, retryAfter time.Duration) *record {
	next := &record{url: url}
	f := &failure{since: now, last: now, count: 1, status: status, cause: cause}
	if r != nil {
		*next = *r
		if old := r.failure; old != nil && old.count > 0 {
			f.since, f.count = old.since, old.count+1
		}
	}
	f.retry = now.Add(nextTry(f.count, retryAfter))
	next.failure = f
	return next
}

// afterError is the record after a fetch that ended in err: failed, or
// delayed if err is a limiter's refusal.
func (r *record) afterError(url string, now time.Time, status int, err error, retryAfter time.Duration) *record {
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		return r.delayed(url, now, delay)
	}
	return r.failed(url, now, status, err.Error(), retryAfter)
}

// delayed is the record after a fetch that a limiter did not let go on beyond
// a redirect: the origin is not asked again before that limiter's time.
func (r *record) delayed(url string, now time.Time, delay *politeness.DelayError) *record {
	next := r.failed(url, now, 0, delay.Error(), delay.Until.Sub(now))
	next.failure.count--
	next.failure.delay = delay
	return next
}

// postponed is the limiter's refusal, if that is all there is to say now.
func (r *record) postponed(now time.Time) error {
	if f := r.failure; f != nil && f.delay != nil && r.inForce(now) == stateNone {
		return f.delay
	}
	return nil
}

// newerThan reports whether r tells more than other: both may be nil.
func (r *record) newerThan(other *record) bool {
	return r != nil && (other == nil || r.checked().After(other.checked()))
}

// checked is when the origin was last asked.
func (r *record) checked() time.Time {
	if r.failure != nil {
		return r.failure.last
	}
	return r.fetched
}

// cost is roughly what a record takes in memory, in octets, without the
// document that it may share.
func (r *record) cost() int64 {
	n := 160 + len(r.url)
	if r.source != nil {
		n += 64 + len(r.source.url) + len(r.source.etag) + len(r.source.lastModified)
	}
	if r.failure != nil {
		n += 128 + len(r.failure.cause)
	}
	return int64(n)
}
