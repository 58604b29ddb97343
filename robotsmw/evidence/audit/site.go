package audit

import (
	"cmp"
	"slices"
	"time"
)

// A site is the state of the audit for one robot on one host.
type site struct {
	host         *host
	accused      bool   // before-robots-txt has been reported, or must not be reported
	file         *file  // the file by which the latest request was judged
	rules        *rules // of the robot, in site.file
	visits       *visits
	isRedirected bool             // the latest response for robots.txt was a redirect
	hop          string           // the URL to which such redirects seem to lead, or its beginning
	paces        map[string]*pace // by the client's address
}

// A host is the state of the audit for one host, which all robots share.
type host struct {
	*Tally
	gone  int // the latest 4xx for robots.txt without a later 2xx or 304; 0 if there is none
	cache cacheProof
}

// visits are the fetches of robots.txt, on one host, by the robots of a family.
type visits struct {
	hasFetch bool    // there was a request for robots.txt, whatever the response
	fetches  []fetch // the latest maxFetches ones, sorted by time
	failed   int64   // the time of the latest request that failed, see isFailure; 0 means none
}

// A fetch is a request for robots.txt whose response was the file, or a 4xx
// because there is no file.
type fetch struct {
	at     int64
	scheme string // "" means not known
	file   *file  // the file that the robot received; nil means not known
}

const maxFetches = 8

// add adds a fetch, which may be earlier than others.
func (v *visits) add(f fetch) {
	i, _ := slices.BinarySearchFunc(v.fetches, f.at, func(f fetch, at int64) int {
		return cmp.Or(cmp.Compare(f.at, at), -1)
	})
	v.fetches = newest(slices.Insert(v.fetches, i, f), maxFetches)
}

// last returns the latest fetch not after the given time. It prefers a fetch
// with the given scheme, because http and https may have different files.
// Without such a fetch, it returns the latest one with the other scheme,
// because a redirect may have led from one scheme to the other.
func (v *visits) last(scheme string, at int64) (last fetch, ok bool) {
	for _, f := range slices.Backward(v.fetches) {
		if f.at > at {
			continue
		}
		if f.scheme == scheme || f.scheme == "" || scheme == "" {
			return f, true
		}
		if !ok {
			last, ok = f, true
		}
	}
	return last, ok
}

// A pace describes the times at which a robot requested pages of a host from
// one address.
//
// A log contains the time at which a request arrived or ended. The client sent
// the request at most event.doubt before that time. If event.doubt is
// maxDuration, the client did not send it before pace.since. pace.earliest is
// the earliest time at which the latest request can have been sent if all gaps
// before it were long enough. Gaps that are already proven to be too short are
// not part of this calculation. If the next request arrived before
// pace.earliest plus the Crawl-delay, there were more requests than the
// Crawl-delay allows.
//
// A time that is not known is "never".
type pace struct {
	since      int64 // no page was requested before this time
	earliest   int64
	latest     int64 // the time of the latest request, as logged
	pauseStart int64 // the time of the latest response with a Retry-After
	pauseEnd   int64 // when the pause that it requests is over
	isListed   bool  // the address is in Tally.Addresses of the robot, unless that is full
}

func newPace() *pace {
	return &pace{
		since:      never,
		earliest:   never,
		latest:     never,
		pauseStart: never,
		pauseEnd:   never,
	}
}

// next adds a request for a page, and reports whether it proves that more than
// one page was requested in each period of want. gap is the time since the
// previous request, in nanoseconds, or -1 if there was none.
func (p *pace) next(e *event, want int64) (isShort bool, gap int64) {
	sent := e.at - e.doubt
	if e.doubt == maxDuration && p.since <= e.at {
		sent = max(sent, p.since)
	}
	gap = -1
	if p.latest != never {
		gap = e.at - p.latest
		isShort = want > 0 && p.earliest+want >= e.at+max(e.rounded, 1)
		if !isShort {
			p.earliest += want
		}
	}
	p.earliest = max(p.earliest, sent)
	p.latest = e.at
	return isShort, gap
}

// isPaused reports whether a request was certainly sent during the pause that a
// Retry-After requested.
func (p *pace) isPaused(e *event) bool {
	if p.pauseStart == never {
		return false
	}
	isAfterResponse := e.at-e.doubt >= p.pauseStart
	isBeforeEnd := e.at+max(e.rounded, 1) <= p.pauseEnd
	return isAfterResponse && isBeforeEnd
}

// pause records the pause that a response with a Retry-After requests.
func (p *pace) pause(e *event) {
	p.pauseStart = e.time()
	if e.end == never {
		p.pauseStart += e.rounded
	}
	p.pauseEnd = p.pauseStart + min(e.wait, int64(maxPause))
}

// maxPause is the longest Retry-After that a crawler must obey. A longer one is
// reduced to maxPause, because a crawler may regard it as a mistake.
const maxPause = 24 * time.Hour
