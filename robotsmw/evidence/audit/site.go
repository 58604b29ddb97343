package audit

import (
	"cmp"
	"slices"
	"time"
)

// A site is what is known of one robot on one host.
type site struct {
	host    *HostResult
	epoch   int
	fetches []fetch // of robots.txt, the last few
	fetched int64   // the first fetch; never: none
	since   int64   // no page began before; never: that is not known
	accused bool    // of a page before robots.txt

	file  *file // the one that rules are of
	rules *rules

	pace
	refused, left int64 // an answer asked at refused to be left alone until left
}

// A fetch is one of robots.txt.
type fetch struct {
	at     int64
	scheme string // "": not known
	saw    *file  // nil: it is not known what
	good   bool   // 200 or 304
}

const keptFetches = 8

func newSite() *site {
	return &site{fetched: never, since: never, refused: never, pace: pace{earliest: never, last: never}}
}

// fetch notes a fetch of robots.txt.
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

// lastGood returns the last fetch before a time that got a file: http and https
// have one each. Where a scheme has none, a redirect led to the other's.
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

// A pace is when a robot asked for the pages of a host.
//
// Where both ends of a request are known, its start is. Where only its end is,
// it may have begun at any time since the robot's first fetch of robots.txt: an
// earlier one would have been a page before robots.txt. So each request has a
// span in which it began. earliest is when the last one can have begun at the
// earliest, if all gaps before were kept that can have been: a gap is too short
// only where that leaves no time for the next one.
type pace struct {
	earliest int64
	last     int64  // the last request's time as logged; never: there is none
	recent   []page // known starts, for those that come late
}

// A page is a request whose start is known.
type page struct {
	start, rounded int64
	url            string
	short          bool // its gap is a violation already
}

const keptPages = 64

// A short is a gap that is too short.
type short struct {
	at, previous int64
	url          string
}

// next notes a request and returns the gaps that it shows to be too short. It
// has begun between lo and hi, lo being never if that is not known. told is
// false if what came before a late request is no longer known.
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

// late notes a request that took so long that others which began after it have
// been noted already.
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

// forget is for a time that cannot be compared with those before. What was
// fetched before was fetched before it.
func (s *site) forget(epoch int, at int64) {
	s.epoch = epoch
	s.pace = pace{earliest: never, last: never}
	s.since, s.refused = never, never
	s.fetched = min(s.fetched, at)
	for i := range s.fetches {
		s.fetches[i].at = min(s.fetches[i].at, at)
	}
}

// maxRest is the longest Retry-After that counts: a crawler may take a longer
// one for a slip.
const maxRest = 24 * time.Hour

// fresh is for how long a robot may go by what it has fetched (RFC 9309 §2.4).
const fresh = 24 * time.Hour
