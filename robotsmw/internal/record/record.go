// Package record holds what is known of an origin: its rules or that there are
// none, for how long that holds, what failed since, and when the next fetch may
// be tried. A Record never changes; each answer of a server makes a new one of
// the one before. Encode and Kind.Decode are its stored form. Nothing here does
// I/O or waits, and each question is asked with the time it is asked at.
package record

import (
	"errors"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// ThirtyDays is when an origin that could never be reached may be treated as
// one without rules (RFC 9309 §2.3.1.4), and how long a Store keeps records.
const ThirtyDays = 30 * 24 * time.Hour

// clockSkew is how far the clocks of those who share a Store may be apart.
const clockSkew = time.Minute

// A State is what is known of an origin's robots.txt.
type State uint8

const (
	None        State = iota // nothing good was ever fetched
	Good                     // 2xx: rules
	Unavailable              // 4xx, or a redirect that leads nowhere: no rules
	Forbidden                // 401 or 403 under DisallowForbidden
	Override                 // Options.Override
)

// A Record is what is kept of an origin. It never changes once it is shared: a
// new fetch makes a new one.
type Record struct {
	URL     string // of the origin's robots.txt; "" for an override
	State   State
	Hops    uint8     // redirects on the way
	Status  int16     // of the response that State follows from; 0: none
	Doc     *Document // the robots.txt in force; nil: none
	Source  *Source   // nil: the origin's own /robots.txt, from the URL's own host and without a validator
	Fetched time.Time
	Expires time.Time
	Failure *Failure // nil: the latest fetch went well
}

// A Source is where a document came from, and what revalidates it there.
type Source struct {
	URL          string // of the file, if not the origin's own /robots.txt
	Host         string // that was asked for it, if not the URL's own
	ETag         string
	LastModified string
}

// From is never nil.
func (r *Record) From() *Source {
	if r.Source == nil {
		return new(Source)
	}
	return r.Source
}

// A Failure is a run of failed fetches.
type Failure struct {
	Since  time.Time // of the first
	Last   time.Time // of the latest
	Count  int
	Status int       // 0: no response
	Cause  string    // what went wrong last
	Retry  time.Time // when the next fetch may be tried

	// Delay: nothing failed, but a limiter refused the wait for the host
	// that the origin redirects to. Nil: it failed.
	Delay *politeness.DelayError
}

// Validates is the source whose validators may be sent to url, with host as the
// request's Host ("": the URL's own): a validator is for where it came from
// alone, and one URL is another file at each virtual host. Nil: none.
func (r *Record) Validates(url, host string) *Source {
	if r == nil || r.Source == nil || r.Source.Host != host {
		return nil
	}
	if r.Source.URL == url || r.Source.URL == "" && r.URL == url {
		return r.Source
	}
	return nil
}

// InForce is the state that decides now. A good copy outlives failures; that
// there was no robots.txt is believed for its lifetime alone.
func (r *Record) InForce(now time.Time) State {
	if r.State != Good && r.Failure != nil && r.Expired(now) {
		return None
	}
	return r.State
}

// Expired reports whether the answer's lifetime is over. A record that says
// it was fetched in the future was written under another clock: its age is
// not known, so it is over too.
func (r *Record) Expired(now time.Time) bool {
	switch r.State {
	case Override:
		return false
	case None:
		return true
	}
	return passed(r.Expires, now) || r.Fetched.After(now.Add(clockSkew))
}

// refreshable reports whether four fifths of the lifetime are over: a fetch
// in the background then spares every caller the wait at its end.
func (r *Record) refreshable(now time.Time) bool {
	if r.State == Override {
		return false
	}
	return passed(r.Fetched.Add(r.Expires.Sub(r.Fetched)/5*4), now)
}

// Waiting reports whether fetches fail and the next try is not due. A
// failure in the future is another clock's: its next try is due.
func (r *Record) Waiting(now time.Time) bool {
	return r.Failure != nil && !passed(r.Failure.Retry, now) && !r.Failure.Last.After(now.Add(clockSkew))
}

// Use says what a caller may do with a record now.
func (r *Record) Use(now time.Time) Use {
	switch {
	case r == nil:
		return UseFetch
	case r.calm(now):
		return UseFresh
	case !r.Expired(now):
		if !r.Waiting(now) && (r.Failure != nil || r.refreshable(now)) {
			return UseAndRefresh
		}
		return UseFresh
	case r.Waiting(now):
		return UseStale
	}
	return UseFetch
}

// calm reports, of nearly every record that is fresh and at little cost, that
// it is: by both clocks of passed it was fetched already, and need not be
// refreshed. It counts in whole seconds, and leaves the last of them to the
// others.
func (r *Record) calm(now time.Time) bool {
	fetched, s := r.Fetched.Unix(), now.Unix()
	calm := (r.Expires.Unix()-fetched)/5*4 - 1
	return r.Failure == nil && fetched <= s && s < fetched+calm && now.Sub(r.Fetched) < time.Duration(calm)*time.Second
}

// Use is what may be done with a record.
type Use uint8

const (
	UseFetch      Use = iota // wait for a fetch
	UseFresh                 // as it is
	UseStale                 // as it is: past its lifetime, or unreachable, and the next try is not due
	UseAndRefresh            // as it is, and start a fetch in the background
)

// AsIs reports whether no fetch is due.
func (u Use) AsIs() bool { return u == UseFresh || u == UseStale }

// Renewed is the record after a 304: the same file for another lifetime. A
// 304 that says nothing of it repeats the lifetime that the file had.
func (r *Record) Renewed(h http.Header, now time.Time) *Record {
	next := *r
	d, stated := Lifetime(h, now)
	if !stated {
		d = r.Expires.Sub(r.Fetched)
	}
	next.Fetched, next.Expires, next.Failure = now, now.Add(d), nil
	return &next
}

// Failed is the record after one more failed fetch: what was good stays,
// until a fetch goes well.
func (r *Record) Failed(url string, now time.Time, status int, cause string, retryAfter time.Duration) *Record {
	next := &Record{URL: url}
	f := &Failure{Since: now, Last: now, Count: 1, Status: status, Cause: causeOf(cause)}
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

// AfterError is the record after a fetch that ended in err: Failed, or
// Delayed if err is a limiter's refusal.
func (r *Record) AfterError(url string, now time.Time, status int, err error, retryAfter time.Duration) *Record {
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		return r.Delayed(url, now, delay)
	}
	return r.Failed(url, now, status, err.Error(), retryAfter)
}

// Delayed is the record after a fetch that a limiter did not let go on beyond
// a redirect: the origin is not asked again before that limiter's time.
func (r *Record) Delayed(url string, now time.Time, delay *politeness.DelayError) *Record {
	next := r.Failed(url, now, 0, delay.Error(), delay.Until.Sub(now))
	next.Failure.Count--
	next.Failure.Delay = delay
	return next
}

// Postponed is the limiter's refusal, if that is all there is to say now.
func (r *Record) Postponed(now time.Time) error {
	if f := r.Failure; f != nil && f.Delay != nil && r.InForce(now) == None {
		return f.Delay
	}
	return nil
}

// NewerThan reports whether r tells more than other: both may be nil.
func (r *Record) NewerThan(other *Record) bool {
	return r != nil && (other == nil || r.checked().After(other.checked()))
}

// checked is when the origin was last asked.
func (r *Record) checked() time.Time {
	if r.Failure != nil {
		return r.Failure.Last
	}
	return r.Fetched
}

// Cost is roughly what a record takes in memory, in bytes, without the
// document that it may share.
func (r *Record) Cost() int64 {
	n := 160 + len(r.URL)
	if r.Source != nil {
		n += 64 + len(r.Source.URL) + len(r.Source.Host) + len(r.Source.ETag) + len(r.Source.LastModified)
	}
	if r.Failure != nil {
		n += 128 + len(r.Failure.Cause)
		if d := r.Failure.Delay; d != nil {
			n += 48 + len(d.Host)
		}
	}
	return int64(n)
}
