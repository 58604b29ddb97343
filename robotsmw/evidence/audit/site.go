package audit

import (
	"cmp"
	"slices"
	"time"
)

// A site has what is known about one robot on one host.
type site struct {
	host    *HostResult
	epoch   int
	fetches []fetch // the latest fetches of robots.txt
	fetched int64   // the time of the first fetch; "never" means that there was none
	since   int64   // no request for a page began before this time; "never" means not known
	accused bool    // BeforeRobotsTxt has been reported

	file  *file // the file that site.rules is made from
	rules *rules

	pace
	refused, left int64 // when an answer asked the robot to stay away, and until when
}

// A fetch is a request for robots.txt.
type fetch struct {
	at     int64
	scheme string // "" means not known
	saw    *file  // the file that the robot got; nil means not known
	good   bool   // the status is 200 or 304
}

const keptFetches = 8

func newSite() *site {
	return &site{fetched: never, since: never, refused: never, pace: pace{earliest: never, last: never}}
}

func (s *site) fetch(f fetch) {
	if s.fetched == never || f.at < s.fetched {
		s.fetched = f.at
		if !s.accused {
			s.since = f.at
		}
	}
	i, _ := slices.BinarySearchFunc(s.fetches, f.at, func(f fetch, at int64) int { return cmp.Or(cmp.Compare(f.at, at), -1) })
	s.fetches = slices.Insert(s.fetches, i, f)
	if len(s.fetches) > keptFetches {
		s.fetches = slices.Delete(s.fetches, 0, 1)
	}
}

// lastGood returns the latest fetch that got a 200 or 304, and that was not
// after the given time. It prefers a fetch with the given scheme, because http
// and https may have different files. Without such a fetch, it returns the
// latest good one with the other scheme, because a redirect may have led there.
func (s *site) lastGood(scheme string, at int64) (last fetch, ok bool) {
	for _, f := range slices.Backward(s.fetches) {
		if !f.good || f.at > at {
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

// A pace has the times at which a robot requested pages of a host.
//
// Some logs have only the end of a request. Such a request may have begun at
// any time since the robot's first fetch of robots.txt, because the audit
// assumes that the robot began no page before that fetch.
//
// If all gaps so far were long enough, the latest request cannot have begun
// before pace.earliest. This calculation leaves out the gaps that are already
// proven too short. Add a Crawl-delay to pace.earliest. If the log shows that
// the next request began before that time, the gap between these two requests
// is proven too short.
type pace struct {
	earliest int64
	last     int64  // the time of the latest request, as logged; "never" means none
	recent   []page // pages with known starts, to judge a page that comes late
}

// A page is a request whose start is known.
type page struct {
	start, rounded int64
	url            string
	short          bool // the gap between the previous page and this one has been reported
}

const keptPages = 64

// The type "short" is a gap that is too short. It lasts from short.previous to
// short.at, when short.url was requested.
type short struct {
	at, previous int64
	url          string
}

// The method "next" adds a request, and returns the gaps that the request
// proves to be too short. The second argument is the earliest time at which the
// request can have begun, or "never" if that is not known. The third argument
// is the Crawl-delay. The second result is how far the added request is, by the
// times in the log, from the request nearest to it. It is "never" if that is
// not known. The last result is false if the gaps cannot be judged, because the
// request comes so late that the pages before it are no longer known.
func (p *pace) next(e *event, since int64, want int64) (shorts []short, least int64, told bool) {
	least, told = never, true
	at, known := e.begun(), e.start != never
	lo, hi := since, at+e.rounded
	if known {
		lo = at
	}
	if e.rounded == 0 {
		hi = at + 1
	}
	if p.last != never && at < p.last {
		if !known {
			return nil, never, true
		}
		return p.late(e, want)
	}
	wasShort := false
	if p.last != never {
		least = at - p.last
		if want > 0 && p.earliest != never && p.earliest+want >= hi {
			shorts = append(shorts, short{at, p.last, e.url})
			wasShort = true
		}
	}
	switch {
	case p.earliest == never || wasShort:
		p.earliest = max(p.earliest, lo)
	default:
		p.earliest = max(p.earliest+want, lo)
	}
	p.last = at
	if known && want > 0 {
		p.keep(len(p.recent), page{at, e.rounded, e.url, wasShort})
	}
	return shorts, least, told
}

// The method "late" adds a request that is logged after requests that began
// later, because it took longer than they did.
func (p *pace) late(e *event, want int64) (shorts []short, least int64, told bool) {
	at := e.begun()
	if want <= 0 {
		return nil, never, true
	}
	i, _ := slices.BinarySearchFunc(p.recent, at, func(q page, at int64) int { return cmp.Or(cmp.Compare(q.start, at), -1) })
	if i == 0 && len(p.recent) == keptPages {
		return nil, never, false
	}
	least = never
	this := page{at, e.rounded, e.url, false}
	if i > 0 {
		before := p.recent[i-1]
		least = at - before.start
		if this.short = least+max(e.rounded, 1) <= want; this.short {
			shorts = append(shorts, short{at, before.start, e.url})
		}
	}
	if i < len(p.recent) {
		after := &p.recent[i]
		gap := after.start - at
		if least == never || gap < least {
			least = gap
		}
		if !after.short && gap+max(after.rounded, 1) <= want {
			after.short = true
			shorts = append(shorts, short{after.start, at, after.url})
		}
	}
	p.keep(i, this)
	return shorts, least, true
}

func (p *pace) keep(i int, q page) {
	p.recent = slices.Insert(p.recent, i, q)
	if len(p.recent) > keptPages {
		p.recent[0] = page{}
		p.recent = p.recent[1:]
	}
}

// forget begins a new epoch. Times from before the epoch cannot be compared
// with those in it, so forget drops them. It keeps only the fetches of
// robots.txt. The second argument is the time of the first request in the
// epoch. If the time of a fetch is later, the fetch gets this time instead.
func (s *site) forget(epoch int, at int64) {
	s.epoch = epoch
	s.pace = pace{earliest: never, last: never}
	s.since, s.refused = never, never
	s.fetched = min(s.fetched, at)
	for i := range s.fetches {
		s.fetches[i].at = min(s.fetches[i].at, at)
	}
}

// maxRest is the longest Retry-After that counts. A crawler may think that a
// longer one is a mistake.
const maxRest = 24 * time.Hour

// fresh is how long a robot may use a file that it has fetched (RFC 9309 §2.4).
const fresh = 24 * time.Hour
