package audit

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"time"
)

const (
	maxDisorder = 10 * time.Second // how far out of order the lines about requests may be
	maxEvents   = 1 << 16          // of those that are not judged yet
	maxInFlight = 1 << 16

	// maxEndDelay is the maximum time between the release of a slot and the
	// recorded end of its request.
	maxEndDelay = 10 * time.Millisecond
	// maxWriteDelay is the maximum time between an event and the writing of its
	// line. The lines of events within this time before the end of a session
	// may be missing.
	maxWriteDelay = time.Second
	// maxClockStep is the assumed maximum difference between the wall clocks of
	// two sessions.
	maxClockStep = time.Second
)

// endSession judges the remaining events of a session, and removes the state of
// the session, because the next session has new Limiters and clocks.
func (p *recordReader) endSession() {
	for _, e := range p.events {
		if e.at.Before(p.newest.Add(-maxWriteDelay)) {
			p.checkNumber(e)
		}
		p.judgePace(e)
	}
	p.events = nil
	p.newest = time.Time{}
	for id, h := range p.hosts {
		if h.pageTime.After(p.earlier[id.host]) {
			p.earlier[id.host] = h.pageTime
		}
	}
	clear(p.limiters)
	clear(p.hosts)
	clear(p.inFlight)
}

// addPace adds a line about the pace. A record contains lines in the order in
// which they were written. They are judged in the order of the events.
func (p *recordReader) addPace(v *recordLine) {
	e := &paceEvent{recordLine: v, at: v.At}
	switch v.Event {
	case "request":
		l := at(p.limiters, v.Limiter)
		e.at = v.Start
		e.isPage = !v.Robots || !p.isForRobots(v.Target)
		e.delay = asDuration(v.Delay)
		if !l.PerHost {
			e.delay = max(e.delay, asDuration(l.Delay))
		}
		if e.isPage {
			e.crawlDelay = p.crawlDelay(v, l)
		}
	case "done":
		e.at = v.End
	}
	i, _ := slices.BinarySearchFunc(p.events, e, func(other, e *paceEvent) int {
		return cmp.Or(other.at.Compare(e.at), cmp.Compare(other.rank(), e.rank()), -1)
	})
	p.events = slices.Insert(p.events, i, e)
	if e.at.After(p.newest) {
		p.newest = e.at
	}
	for p.isFirstDue() {
		p.checkNumber(p.events[0])
		p.judgePace(p.events[0])
		p.events = slices.Delete(p.events, 0, 1)
	}
}

// isFirstDue reports whether the first event should be judged now, because no
// earlier one is expected, or because there are too many events.
func (p *recordReader) isFirstDue() bool {
	if len(p.events) == 0 {
		return false
	}
	return len(p.events) > maxEvents || p.events[0].at.Before(p.newest.Add(-maxDisorder))
}

// rank orders events with the same time: requests, by their numbers, precede
// all others.
func (e *paceEvent) rank() int {
	if e.Event == "request" {
		return e.Request
	}
	return math.MaxInt
}

// crawlDelay returns the Crawl-delay that a request must observe: the longer
// one of the Crawl-delay in the request's line and that of the robots.txt in
// the request's decision. If ClampDelay is set, which was an option of Limiters
// in old records, the latter is at most the Limiter's MaxCrawlDelay. If the
// Crawl-delay in the request's line was agreed with the owner of the host, it
// alone applies.
func (p *recordReader) crawlDelay(v *recordLine, l *recordLimiter) time.Duration {
	delay := asDuration(v.CrawlDelay)
	if v.Agreed || v.Decision == nil || p.files[v.Decision.SHA256] == nil {
		return delay
	}
	inFile, _ := p.files[v.Decision.SHA256].CrawlDelay()
	if l.ClampDelay && l.MaxCrawlDelay > 0 {
		inFile = min(inFile, asDuration(l.MaxCrawlDelay))
	}
	return max(delay, inFile)
}

// checkNumber reports requests whose lines are missing: the numbers that a
// Limiter gives to its requests have no gaps.
func (p *recordReader) checkNumber(e *paceEvent) {
	if e.Event != "request" {
		return
	}
	l := at(p.limiters, e.Limiter)
	if l.request > 0 && e.Request > l.request+1 && !p.partial {
		p.reportFault(contradiction("request %d of limiter %d is missing, and perhaps others after it", l.request+1, e.Limiter))
	}
	l.request = max(l.request, e.Request)
}

// checkLimiter reports a request that contradicts its limiter line.
func (p *recordReader) checkLimiter(v *recordLine) {
	if p.partial {
		return
	}
	l := at(p.limiters, v.Limiter)
	switch {
	case v.Agreed && !l.PerHost:
		p.reportFault(contradiction("the Crawl-delay of the request is marked as agreed, but its limiter has no PerHost"))
	case v.Delay < l.Delay && !l.PerHost:
		p.reportFault(contradiction("the delay of the request is %v s, but that of its limiter is %v s", v.Delay, l.Delay))
	case l.Key == "host" && !isHostKey(v.Host, v.Target):
		p.reportFault(contradiction("the request is delayed together with those to another host, %.100q", v.Host))
	}
}

// isHostKey reports whether key is that of the host of a URL, or that key is
// unknown because only the crawler can convert the host.
func isHostKey(key, target string) bool {
	u, err := url.Parse(target)
	return err != nil || hasOddHost(u) || key == hostKey(u)
}

// judgePace judges the start of a request. The other events determine when
// later requests may start.
func (p *recordReader) judgePace(e *paceEvent) {
	l := at(p.limiters, e.Limiter)
	if e.Event == "done" {
		p.endRequest(e, l)
		return
	}
	h := at(p.hosts, hostID{e.Limiter, e.Host})
	switch e.Event {
	case "request":
		p.judgeStart(e, h)
		if l.EndToStart {
			if len(p.inFlight) >= maxInFlight {
				clear(p.inFlight)
			}
			e.host = h
			p.inFlight[e.id()] = e
		}
	case "answer":
		wait := asDuration(e.Asks)
		if l.MaxRetryAfter > 0 {
			wait = min(wait, asDuration(l.MaxRetryAfter))
		}
		if e.Status >= 300 { // the statuses with which the Limiter obeys a Retry-After
			h.pause(e.at, e.at.Add(min(wait, maxPause)))
		}
	case "pause":
		h.pause(e.at, e.Until)
	}
}

// pause pauses the host, unless an earlier pause ends later.
func (h *recordHost) pause(from, until time.Time) {
	if until.After(h.pauseEnd) {
		h.pauseStart = from
		h.pauseEnd = until
	}
}

// judgeStart reports a violation if a request for a page began in a pause, or
// if any request began too soon after an earlier one.
func (p *recordReader) judgeStart(e *paceEvent, h *recordHost) {
	if e.isPage && e.at.After(h.pauseStart) && e.at.Before(h.pauseEnd) {
		p.report(Violation{
			Time:     e.at,
			URL:      e.Target,
			Kind:     "retry-after",
			Previous: h.pauseStart,
			Gap:      e.at.Sub(h.pauseStart),
			Want:     h.pauseEnd.Sub(h.pauseStart),
		})
	}
	// Any two requests must be at least the delay apart, and any two requests
	// for pages at least the Crawl-delay. If both gaps are too short, only the
	// gap that misses its minimum by more is reported.
	last := h.latest
	want := e.delay
	if e.isPage {
		if h.page.start.IsZero() {
			p.judgeFirstPage(e)
		} else if p.a.counts(e.at.UnixNano()) {
			r, _ := p.site(e.Target)
			r.sums.addGap(e.at.Sub(h.page.start), e.crawlDelay)
		}
		if h.page.earlyBy(e.at, e.crawlDelay) > last.earlyBy(e.at, want) {
			last = h.page
			want = e.crawlDelay
		}
	}
	if last.earlyBy(e.at, want) > 0 {
		p.reportGap(e, last.start, want+last.from.Sub(last.start))
	}
	h.latest = mark{start: e.at, from: e.at}
	if e.isPage {
		h.page = h.latest
		h.pageTime = e.Time
	}
	if h.last != nil {
		next := *e // a copy, so that h.last does not keep all later requests in memory
		h.last.next = &next
	}
	h.last = e
}

// earlyBy returns by how much a request at the given time is too early. The
// result is 0 or negative if the request is not too early.
func (k mark) earlyBy(at time.Time, want time.Duration) time.Duration {
	if k.start.IsZero() || want <= 0 {
		return 0
	}
	early := want - at.Sub(k.from)
	if k.from.After(k.start) {
		early -= maxEndDelay
	}
	return early
}

func (p *recordReader) reportGap(e *paceEvent, previous time.Time, want time.Duration) {
	p.report(Violation{
		Time:     e.at,
		URL:      e.Target,
		Kind:     "gap",
		Previous: previous,
		Gap:      e.at.Sub(previous),
		Want:     want,
	})
}

// judgeFirstPage compares the first page of a session with the latest one of
// the earlier sessions, by the wall clock. If that clock was set back, the gap
// is unknown, and no violation is reported.
func (p *recordReader) judgeFirstPage(e *paceEvent) {
	last, ok := p.earlier[e.Host]
	if !ok {
		return
	}
	gap := e.Time.Sub(last)
	if gap < 0 || gap >= e.crawlDelay-maxClockStep {
		return
	}
	p.report(Violation{
		Time:     e.Time,
		URL:      e.Target,
		Kind:     "gap",
		Previous: last,
		Gap:      gap,
		Want:     e.crawlDelay,
	})
}

// endRequest processes the end of a request. With EndToStart, the interval is
// measured from the end and, if the host has only one slot, the next request
// must not start before the end. A request that takes longer than its lease
// loses its slot.
func (p *recordReader) endRequest(e *paceEvent, l *recordLimiter) {
	request := p.inFlight[e.id()]
	delete(p.inFlight, e.id())
	if request == nil {
		return
	}
	took := e.at.Sub(request.at)
	if l.Lease > 0 && took >= asDuration(l.Lease) {
		return
	}
	hasOneSlot := l.Concurrency == 1 && !l.PerHost // with PerHost, the slots of this host are unknown
	next := request.next
	if hasOneSlot && next != nil && next.at.Before(e.at.Add(-maxEndDelay)) {
		p.reportGap(next, request.at, took+next.delay)
	}
	request.host.latest.end(e.at)
	if request.isPage {
		request.host.page.end(e.at)
	}
}

// end sets the time from which the next interval is measured, unless that time
// is already later.
func (k *mark) end(at time.Time) {
	if at.After(k.from) {
		k.from = at
	}
}

// asDuration converts a number of seconds. The result is between 0 and 285
// years, so that the conversion cannot overflow.
func asDuration(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), 9e9) * float64(time.Second))
}
