package audit

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"time"
)

const (
	recordReach = 10 * time.Second // how far from its place a line about the pace may be
	mostMoments = 1 << 16
	mostFlying  = 1 << 16

	// noted is how much later than the slot is free its end may be noted.
	noted = 10 * time.Millisecond
	// late is how late a line may be written. At the end of a session it may be
	// too late for the record.
	late = time.Second
	// stepped is how much the wall clocks of two sessions may differ.
	stepped = time.Second
)

// endSession judges the pace to the end of a session. The next session has new
// Limiters and clocks.
func (p *recordReader) endSession() {
	for _, m := range p.moments {
		if m.at.Before(p.newest.Add(-late)) {
			p.count(m)
		}
		p.event(m)
	}
	p.moments, p.newest = nil, time.Time{}
	for id, h := range p.hosts {
		if h.paged.After(p.earlier[id.host]) {
			p.earlier[id.host] = h.paged
		}
	}
	clear(p.limiters)
	clear(p.hosts)
	clear(p.flying)
}

// pace takes a line about the pace. The record has lines in the order in which
// they were noted. They are judged in the order of the events.
func (p *recordReader) pace(v *recordLine) {
	m := &paceEvent{recordLine: v, at: v.At}
	switch v.Event {
	case "request":
		l := at(p.limiters, v.Limiter)
		m.at, m.isPage = v.Start, !v.Robots || !p.isForRobots(v.Target)
		m.delay = asDuration(v.Delay)
		if !l.PerHost {
			m.delay = max(m.delay, asDuration(l.Delay))
		}
		if m.isPage {
			m.crawl = p.crawlDelay(v, l)
		}
	case "done":
		m.at = v.End
	}
	i, _ := slices.BinarySearchFunc(p.moments, m, func(o, m *paceEvent) int {
		return cmp.Or(o.at.Compare(m.at), cmp.Compare(o.rank(), m.rank()), -1)
	})
	p.moments = slices.Insert(p.moments, i, m)
	if m.at.After(p.newest) {
		p.newest = m.at
	}
	for len(p.moments) > 0 && (len(p.moments) > mostMoments || p.moments[0].at.Before(p.newest.Add(-recordReach))) {
		p.count(p.moments[0])
		p.event(p.moments[0])
		p.moments = slices.Delete(p.moments, 0, 1)
	}
}

// rank sorts what happens at one moment: first the requests, by their numbers.
func (m *paceEvent) rank() int {
	if m.Event == "request" {
		return m.Request
	}
	return math.MaxInt
}

// crawlDelay returns the Crawl-delay that a request must observe: the longer
// one of the Crawl-delay in the request's line and that of the robots.txt in
// the request's decision. If ClampDelay is set, which was an option of Limiters
// in old records, the latter is at most the Limiter's MaxCrawlDelay. If the
// Crawl-delay in the request's line was agreed with the owner of the host, only
// that one counts.
func (p *recordReader) crawlDelay(v *recordLine, l *recordLimiter) time.Duration {
	delay := asDuration(v.CrawlDelay)
	if v.Agreed || v.Decision == nil || p.files[v.Decision.SHA256] == nil {
		return delay
	}
	asked, _ := p.files[v.Decision.SHA256].CrawlDelay()
	if l.ClampDelay && l.MaxCrawlDelay > 0 {
		asked = min(asked, asDuration(l.MaxCrawlDelay))
	}
	return max(delay, asked)
}

// count reports a request whose line is missing: a Limiter numbers its requests
// without a hole.
func (p *recordReader) count(m *paceEvent) {
	if m.Event != "request" {
		return
	}
	l := at(p.limiters, m.Limiter)
	if l.count > 0 && m.Request > l.count+1 && !p.partial {
		p.say(contradiction("request %d of limiter %d is missing, or more of them", l.count+1, m.Limiter))
	}
	l.count = max(l.count, m.Request)
}

// limits reports a request that contradicts its limiter line.
func (p *recordReader) limits(v *recordLine) {
	l := at(p.limiters, v.Limiter)
	u, err := url.Parse(v.Target)
	switch {
	case p.partial:
	case v.Agreed && !l.PerHost:
		p.say(contradiction("the request says that its Crawl-delay was agreed, its limiter has no settings of single hosts"))
	case v.Delay < l.Delay && !l.PerHost:
		p.say(contradiction("the request says that the delay is %v s, its limiter says %v s", v.Delay, l.Delay))
	case err == nil && l.Key == "host" && !isOdd(u) && v.Host != hostKey(u):
		p.say(contradiction("the request has the pace of %.100q, which is another host", v.Host))
	}
}

// event judges the pace of a request. From answers and pauses, it learns when
// the host must be left alone.
func (p *recordReader) event(m *paceEvent) {
	l := at(p.limiters, m.Limiter)
	if m.Event == "done" {
		p.ended(m, l)
		return
	}
	h := at(p.hosts, hostID{m.Limiter, m.Host})
	switch m.Event {
	case "request":
		p.gap(m, h)
		if l.EndToStart {
			if len(p.flying) >= mostFlying {
				clear(p.flying)
			}
			m.host, p.flying[[2]int{m.Limiter, m.Request}] = h, m
		}
	case "answer":
		wait := asDuration(m.Asks)
		if l.MaxRetryAfter > 0 {
			wait = min(wait, asDuration(l.MaxRetryAfter))
		}
		if m.Status >= 300 { // which Retry-After the Limiter obeys
			h.rest(m.at, m.at.Add(min(wait, maxRest)))
		}
	case "pause":
		h.rest(m.at, m.Until)
	}
}

func (h *recordHost) rest(at, until time.Time) {
	if until.After(h.left) {
		h.asked, h.left = at, until
	}
}

// gap reports a violation if a request for a page began in a pause, or if any
// request began too soon after an earlier one.
func (p *recordReader) gap(m *paceEvent, h *recordHost) {
	if m.at.Before(h.left) && m.at.After(h.asked) && m.isPage {
		p.report(Violation{Time: m.at, URL: m.Target, Kind: "retry-after", Previous: h.asked, Gap: m.at.Sub(h.asked), Want: h.left.Sub(h.asked)})
	}
	// Any two requests must be at least the delay apart, and any two requests
	// for pages at least the Crawl-delay. If both gaps are too short, only the
	// gap that misses its minimum by more is reported.
	last, want := h.latest, m.delay
	if m.isPage {
		if !h.page.start.IsZero() {
			r, _ := p.site(m.Target)
			if p.a.counts(m.at.UnixNano()) {
				r.sums.gap(m.at.Sub(h.page.start), m.crawl)
			}
		} else {
			p.gapSince(m)
		}
		if h.page.lacks(m.at, m.crawl) > last.lacks(m.at, want) {
			last, want = h.page, m.crawl
		}
	}
	if last.lacks(m.at, want) > 0 {
		p.tooSoon(m, last.start, want+last.from.Sub(last.start))
	}
	h.latest = mark{m.at, m.at}
	if m.isPage {
		h.page, h.paged = mark{m.at, m.at}, m.Time
	}
	if h.last != nil {
		following := *m // a copy, which keeps no later requests
		h.last.next = &following
	}
	h.last = m
}

// lacks returns by how much a request is too early. It is 0 or less if the
// request is not.
func (k mark) lacks(at time.Time, want time.Duration) time.Duration {
	if k.start.IsZero() || want <= 0 {
		return 0
	}
	lack := want - at.Sub(k.from)
	if k.from.After(k.start) {
		lack -= noted
	}
	return lack
}

func (p *recordReader) tooSoon(m *paceEvent, previous time.Time, want time.Duration) {
	p.report(Violation{Time: m.at, URL: m.Target, Kind: "gap", Previous: previous, Gap: m.at.Sub(previous), Want: want})
}

// gapSince compares the first page of a session with the latest one of the
// sessions before, by the wall clock. If that clock was set back, nothing is
// known.
func (p *recordReader) gapSince(m *paceEvent) {
	last, ok := p.earlier[m.Host]
	if gap := m.Time.Sub(last); ok && gap >= 0 && gap < m.crawl-stepped {
		p.report(Violation{Time: m.Time, URL: m.Target, Kind: "gap", Previous: last, Gap: gap, Want: m.crawl})
	}
}

// ended notes the end of a request. With EndToStart, the interval counts from
// there, and with one slot no other request may have begun before. If a request
// takes longer than its lease, it loses its slot.
func (p *recordReader) ended(m *paceEvent, l *recordLimiter) {
	f := p.flying[[2]int{m.Limiter, m.Request}]
	delete(p.flying, [2]int{m.Limiter, m.Request})
	if f == nil || l.Lease > 0 && m.at.Sub(f.at) >= asDuration(l.Lease) {
		return
	}
	hasOneSlot := l.Concurrency == 1 && !l.PerHost // with PerHost, the slots of this host are unknown
	if next := f.next; next != nil && hasOneSlot && next.at.Before(m.at.Add(-noted)) {
		p.tooSoon(next, f.at, m.at.Sub(f.at)+next.delay)
	}
	f.host.latest.ends(m.at)
	if f.isPage {
		f.host.page.ends(m.at)
	}
}

func (k *mark) ends(at time.Time) {
	if at.After(k.from) {
		k.from = at
	}
}

func asDuration(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), 9e9) * float64(time.Second))
}
