// Package record holds what is known about an origin: its rules, or that there
// are none; how long this is valid; what has failed since; and when the next
// fetch may be tried. A Record never changes. Each fetch makes a new Record
// from the one before. Encode and Kind.Decode convert a Record to its stored
// form and back. The package does no I/O and never waits. A method that needs
// the time takes it as an argument.
package record

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

// ThirtyDays is the time after which an unreachable origin may be treated as
// one without rules, if no good copy is known (RFC 9309 §2.3.1.4). It is also
// the longest time that a Store keeps a record.
const ThirtyDays = 30 * 24 * time.Hour

// clockSkew is how far apart the clocks of processes that share a Store may be.
const clockSkew = time.Minute

// A State is what is known about an origin's robots.txt.
type State uint8

const (
	None        State = iota // nothing is known: no fetch has received a usable response
	Good                     // 2xx: rules
	Unavailable              // 4xx, or a redirect that leads nowhere: no rules
	Forbidden                // 401 or 403 under DisallowForbidden: all is disallowed
	Override                 // rules from Options.Override, not from a fetch
)

// A Record is what is known about one origin. It never changes once it is
// shared: a new fetch makes a new Record.
type Record struct {
	URL     string // the URL of the origin's robots.txt; "" for an override
	State   State
	Hops    uint8     // redirects followed
	Status  int16     // status of the response that led to State; 0 means none
	Doc     *Document // the robots.txt in force; nil means none
	Source  *Source   // nil means the origin's own /robots.txt, without validators
	Fetched time.Time
	Expires time.Time
	Failure *Failure // nil means nothing has failed since Fetched
}

// A Source is the URL from which a document was fetched, and the document's
// validators there.
type Source struct {
	URL          string // the URL of the file; "" means the origin's own /robots.txt
	Host         string // the Host that was sent, if not the URL's own
	ETag         string
	LastModified string
}

// From returns r.Source, or an empty Source if r.Source is nil.
func (r *Record) From() *Source {
	if r.Source == nil {
		return new(Source)
	}
	return r.Source
}

// A Failure is a series of failed fetches, a fetch that a limiter postponed, or
// a fetch whose address was refused.
type Failure struct {
	Since  time.Time // when the first fetch failed; the same as Last if Count is 0
	Last   time.Time // when the latest fetch failed or was postponed
	Count  int
	Status int       // 0 means no response
	Cause  string    // the reason for the latest failure, as text
	Err    error     // what compact keeps of the latest error; not part of the stored form
	Retry  time.Time // when the next fetch may be tried

	// Delay is the limiter's error if the latest fetch was postponed at the
	// origin's host or at a host that the origin redirects to. Delay is nil if
	// the latest fetch failed.
	Delay *politeness.DelayError
}

// Validates returns the source whose validators may be sent with a request for
// this URL with this Host ("" means the URL's own). It returns nil if there is
// no such source. A validator may be sent only to the URL and Host from which
// it was received.
func (r *Record) Validates(url, host string) *Source {
	if r == nil || r.Source == nil || r.Source.Host != host {
		return nil
	}
	if cmp.Or(r.Source.URL, r.URL) == url {
		return r.Source
	}
	return nil
}

// InForce returns the state that decides now. While fetches fail, a good copy
// stays in force, but Unavailable and Forbidden end with their lifetime.
func (r *Record) InForce(now time.Time) State {
	if r.State != Good && r.Failure != nil && r.Expired(now) {
		return None
	}
	return r.State
}

// Outlast extends the lifetime of r to wait and 5 minutes, but to at most 24
// hours (RFC 9309 §2.4). It never shortens it. If each request to a host waited
// longer than the lifetime, robots.txt would always have expired before a page
// could be requested.
func (r *Record) Outlast(wait time.Duration) {
	if least := r.Fetched.Add(min(wait+MinLifetime, MaxLifetime)); r.Expires.Before(least) {
		r.Expires = least
	}
}

// Expired reports whether the record's lifetime is over. A record that was
// fetched more than clockSkew in the future has the time of another clock. Its
// age is unknown, so it counts as expired.
func (r *Record) Expired(now time.Time) bool {
	switch r.State {
	case Override:
		return false
	case None:
		return true
	}
	return passed(r.Expires, now) || r.Fetched.After(now.Add(clockSkew))
}

// refreshable reports whether four fifths of the lifetime are over. If a fetch
// in the background begins then, no caller has to wait when the lifetime ends.
func (r *Record) refreshable(now time.Time) bool {
	if r.State == Override {
		return false
	}
	return passed(r.Fetched.Add(r.Expires.Sub(r.Fetched)/5*4), now)
}

// AwaitsRetry reports whether the latest fetch failed or was postponed, and the
// next try is not due yet. A failure that is more than clockSkew in the future
// has the time of another clock, so its next try counts as due.
func (r *Record) AwaitsRetry(now time.Time) bool {
	return r.Failure != nil && !passed(r.Failure.Retry, now) && !r.Failure.Last.After(now.Add(clockSkew))
}

// Use returns what a caller may do with the record now. For a nil Record, it
// returns UseFetch.
func (r *Record) Use(now time.Time) Use {
	switch {
	case r == nil:
		return UseFetch
	case !r.Expired(now):
		isDue := r.Failure != nil || r.refreshable(now)
		if isDue && !r.AwaitsRetry(now) {
			return UseAndRefresh
		}
		return UseFresh
	case r.AwaitsRetry(now):
		return UseStale
	}
	return UseFetch
}

// A Use is what may be done with a record.
type Use uint8

const (
	UseFetch      Use = iota // wait for a fetch
	UseFresh                 // use it unchanged
	UseStale                 // use it unchanged: it has expired, but the next try is not due
	UseAndRefresh            // use it unchanged, and start a fetch in the background
)

// AsIs reports whether the record is used unchanged and no fetch is due.
func (u Use) AsIs() bool { return u == UseFresh || u == UseStale }

// Renewed returns the record after a 304: the same file for another lifetime.
// If the 304 states no lifetime, the new lifetime is as long as the one before.
func (r *Record) Renewed(h http.Header, now time.Time) *Record {
	next := *r
	d, stated := Lifetime(h, now)
	if !stated {
		d = r.Expires.Sub(r.Fetched)
	}
	next.Fetched = now
	next.Expires = now.Add(d)
	next.Failure = nil
	return &next
}

// Failed returns the record after one more failed fetch. It is a copy of r with
// a new Failure. If r is nil, the new record has only a URL and the Failure.
func (r *Record) Failed(
	url string, now time.Time, status int, cause string, retryAfter time.Duration,
) *Record {
	next := &Record{URL: url}
	f := &Failure{Since: now, Last: now, Count: 1, Status: status, Cause: cleanCause(cause)}
	if r != nil {
		*next = *r
		if old := r.Failure; old != nil && old.Count > 0 {
			f.Since, f.Count = old.Since, old.Count+1
		}
	}
	f.Retry = now.Add(nextTry(f.Count, retryAfter))
	next.Failure = f
	return next
}

// AfterError returns the record after a fetch that ended in err. It returns the
// result of Delayed if err is a *politeness.DelayError. An address that the
// crawler's configuration refuses does not count as a failed fetch, because it
// indicates nothing about the site: the next fetch is always due after
// refusedPause. Any other error counts as in Failed.
func (r *Record) AfterError(
	url string, now time.Time, status int, err error, retryAfter time.Duration,
) *Record {
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		return r.Delayed(url, now, delay)
	}
	isRefused := errors.Is(err, address.ErrRefused)
	if isRefused {
		retryAfter = refusedPause
	}
	next := r.Failed(url, now, status, describe(url, err), retryAfter)
	next.Failure.Err = compact(err)
	if isRefused {
		next.Failure.Count--
	}
	return next
}

// refusedPause is how long after a refused address the next fetch is due. The
// fetch looks up the name again, which the site does not notice.
const refusedPause = time.Minute

// AddressRefused reports whether the latest fetch failed because of a refused
// address.
func (f *Failure) AddressRefused() bool { return errors.Is(f.Err, address.ErrRefused) }

// Delayed returns the record after a fetch that a limiter postponed, at the
// origin's host or at a host that the origin redirects to. This does not count
// as a failed fetch. The next fetch is due at delay.Until, or in 24 hours if
// that is sooner. If delay.Until has passed already, the wait is as long as
// after a failure.
func (r *Record) Delayed(url string, now time.Time, delay *politeness.DelayError) *Record {
	next := r.Failed(url, now, 0, delay.Error(), delay.Until.Sub(now))
	next.Failure.Count--
	next.Failure.Delay = delay
	return next
}

// Postponed returns the limiter's error that postponed the latest fetch, if
// there is one and the state in force is None. Otherwise it returns nil.
func (r *Record) Postponed(now time.Time) error {
	if f := r.Failure; f != nil && f.Delay != nil && r.InForce(now) == None {
		return f.Delay
	}
	return nil
}

// NewerThan reports whether r is newer than other. Both may be nil.
func (r *Record) NewerThan(other *Record) bool {
	return r != nil && (other == nil || r.checked().After(other.checked()))
}

// checked returns when the latest fetch ended or was postponed.
func (r *Record) checked() time.Time {
	if r.Failure != nil {
		return r.Failure.Last
	}
	return r.Fetched
}

// Cost returns roughly how many bytes of memory a record takes, without the
// document that it may share.
func (r *Record) Cost() int64 {
	n := 160 + len(r.URL)
	if r.Source != nil {
		n += 64 + len(r.Source.URL) + len(r.Source.Host) + len(r.Source.ETag) + len(r.Source.LastModified)
	}
	if r.Failure != nil {
		n += 144 + len(r.Failure.Cause) + errorCost(r.Failure.Err)
		if d := r.Failure.Delay; d != nil {
			n += 48 + len(d.Host)
		}
	}
	return int64(n)
}
