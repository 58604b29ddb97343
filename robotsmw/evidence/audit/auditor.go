package audit

import (
	"strings"
	"time"
)

// An Auditor judges requests in the order in which they began. Its zero value
// is ready for use. It is not safe for concurrent use.
type Auditor struct {
	// History has the robots.txt files that were in force. If it is nil, or has
	// no file for a request, the Auditor uses the robots.txt files that
	// Requests and WARC files contain.
	History *History
	// OnViolation, if not nil, is called with each violation. The calls are in
	// the order of time, unless a request took longer than an hour, or an hour
	// has many thousands of violations.
	OnViolation func(Violation)
	// OnBroken, if not nil, is called with each problem in a line or record.
	OnBroken func(Broken)

	result   Result
	robots   map[string]*robot
	hosts    map[string]*HostResult
	seen     History // the robots.txt files that Requests and WARC files contain
	window   window
	epoch    int
	newest   int64
	found    reorder
	spans    map[string]*Span // by host: the Span that has not ended yet
	lastName string
	last     *robot
}

type robot struct {
	name  string
	sites map[string]*site
	sums  *RobotResult
}

// Add judges a request, or keeps it until it can be sorted. Requests may be out
// of order by up to ten seconds. A request that is more than ten seconds older
// than the newest one so far counts as a jump, and no gap is judged across the
// jump. A request without a time counts as broken.
func (a *Auditor) Add(r Request) {
	e, ok := r.event()
	if !ok {
		a.broken(Broken{Err: errNoTime})
		return
	}
	a.result.Requests++
	if e.robot == "" {
		return
	}
	if a.robots != nil && a.newest != never && e.time() < a.newest-reach {
		a.result.Jumps++
		a.jump()
	}
	a.add(&e)
}

// Result judges the requests that Add or Read has kept, ends the audit, and
// returns its result.
func (a *Auditor) Result() *Result {
	a.flush()
	for _, s := range a.spans {
		a.result.addSpan(*s)
	}
	clear(a.spans)
	for v, ok := a.found.pop(forever); ok; v, ok = a.found.pop(forever) {
		a.tell(v)
	}
	a.result.finish()
	return &a.result
}

var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (a *Auditor) add(e *event) {
	a.begin()
	e.epoch = a.epoch
	a.newest = max(a.newest, e.time())
	a.window.push(e)
	var next event
	for a.window.pop(a.newest-reach, &next) {
		a.judge(&next)
	}
	if len(a.found.held) > 0 {
		a.release(asTime(a.newest).Add(-holdFor))
	}
}

func (a *Auditor) begin() {
	if a.robots == nil {
		a.robots, a.hosts, a.spans = make(map[string]*robot), make(map[string]*HostResult), make(map[string]*Span)
		a.seen.recent = keptFetches
		a.newest = never
	}
}

// jump begins a new epoch, because the time has jumped back. It first judges
// all requests that are kept.
func (a *Auditor) jump() {
	a.flush()
	a.epoch++
	a.newest = never
}

func (a *Auditor) flush() {
	var next event
	for a.window.pop(1<<63-1, &next) {
		a.judge(&next)
	}
}

func (a *Auditor) robot(name string) *robot {
	if name == a.lastName && a.last != nil {
		return a.last
	}
	key := strings.ToLower(name)
	r := a.robots[key]
	if r == nil {
		r = &robot{name: name, sites: make(map[string]*site), sums: a.result.robot(name)}
		a.robots[key] = r
	}
	a.lastName, a.last = name, r
	return r
}

func (a *Auditor) host(name string) *HostResult {
	h := a.hosts[name]
	if h == nil {
		h = &HostResult{Name: name, Kinds: make(map[Kind]int)}
		a.hosts[name] = h
		a.result.Hosts = append(a.result.Hosts, h)
	}
	return h
}

func (a *Auditor) site(r *robot, host string) *site {
	s := r.sites[host]
	if s == nil {
		s = newSite()
		s.host = a.host(host)
		r.sites[host] = s
		r.sums.Hosts++
	}
	return s
}

func (a *Auditor) judge(e *event) {
	r := a.robot(e.robot)
	if e.host == "" && a.History != nil {
		e.host, _ = a.History.only()
	}
	s := a.site(r, e.host)
	if s.epoch != e.epoch {
		s.forget(e.epoch, e.begun())
	}
	day := r.sums.day(e.begun())
	day.Requests++
	r.sums.Requests++
	s.host.Requests++
	r.sums.seen(e.begun())
	if e.isRobots() {
		a.fetch(e, r, s)
	} else if pathOf(e.url) != "" {
		a.page(e, r, s, day)
	}
	if e.wait > 0 && (e.status == 429 || e.status == 503 || e.status/100 == 3) {
		s.refused = e.time()
		if e.end == never {
			s.refused += e.rounded
		}
		s.left = s.refused + min(e.wait, int64(maxRest))
	}
}

func (a *Auditor) fetch(e *event, r *robot, s *site) {
	f := fetch{at: e.time(), scheme: e.scheme, good: e.status == 200 || e.status == 304}
	if e.capture != nil {
		a.seen.add(e.scheme, e.host, f.at, e.capture)
		f.saw = a.seen.at(e.scheme, e.host, f.at)
	} else {
		f.saw = a.inForce(e, f.at)
	}
	s.fetch(f)
	r.sums.Fetches++
}

func (a *Auditor) inForce(e *event, at int64) *file {
	if e.host == "" && a.History != nil && a.History.all == nil && len(a.History.hosts) > 1 {
		return nil
	}
	if f := a.History.at(e.scheme, e.host, at); f != nil {
		return f
	}
	return a.seen.at(e.scheme, e.host, at)
}

func (a *Auditor) page(e *event, r *robot, s *site, day *Day) {
	at := e.begun()
	v := Violation{Time: asTime(at), Robot: r.name, Host: e.host, URL: e.url}
	f := a.inForce(e, at)
	known := f != nil
	if known {
		if s.file != f {
			s.file, s.rules = f, f.rulesFor(r.name)
		}
		known = a.allowed(v, e.scheme, at, f, r, s)
	}
	if !s.accused && (s.fetched == never || at < s.fetched) {
		s.accused, s.since = true, never
		v := v
		v.Kind = BeforeRobotsTxt
		a.report(v, r, s)
	}
	want := int64(0)
	if f != nil {
		want = int64(s.rules.delay)
	}
	shorts, least, told := s.next(e, s.since, want)
	for _, short := range shorts {
		v := v
		v.Kind, v.Time, v.URL = Gap, asTime(short.at), short.url
		v.Previous, v.Gap, v.Want = asTime(short.previous), time.Duration(short.at-short.previous), time.Duration(want)
		v.Line, v.Rule = s.rules.line, s.rules.field
		a.report(v, r, s)
	}
	if least != never {
		r.sums.gap(time.Duration(least), time.Duration(want))
	}
	if s.refused != never && at >= s.refused && at+max(e.rounded, 1) <= s.left {
		v := v
		v.Kind, v.Previous = RetryAfter, asTime(s.refused)
		v.Gap, v.Want = time.Duration(at-s.refused), time.Duration(s.left-s.refused)
		a.report(v, r, s)
	}
	if known && told {
		a.audited(e.host)
		return
	}
	day.Unaudited++
	r.sums.Unaudited++
	a.result.Unaudited++
	a.unaudited(e.host, at)
}

// The method "allowed" reports a violation if the file in force forbids a page.
// There is no violation if the robot may still use the file that it fetched
// last, and if that file allows the page. The method returns false only if it
// cannot decide, because the robot may still use a file that is not known.
func (a *Auditor) allowed(v Violation, scheme string, at int64, f *file, r *robot, s *site) bool {
	verdict := f.judge(s.rules, v.URL)
	if verdict.allowed {
		return true
	}
	v.Kind, v.Line, v.Rule = Disallowed, verdict.line, verdict.rule
	if last, ok := s.lastGood(scheme, at); ok {
		isFresh := at-last.at <= int64(fresh)
		switch {
		case last.saw == nil && isFresh:
			return false
		case last.saw == nil || last.saw == f || !last.saw.judge(last.saw.rulesFor(r.name), v.URL).allowed:
		case isFresh:
			return true
		default:
			v.Kind, v.Previous = Stale, asTime(last.at)
			v.Gap, v.Want = time.Duration(at-last.at), fresh
		}
	}
	a.report(v, r, s)
	return true
}

func (a *Auditor) report(v Violation, r *robot, s *site) {
	a.result.Violations++
	s.host.Kinds[v.Kind]++
	r.sums.violation(v)
	a.found.push(v)
}

func (a *Auditor) release(bound time.Time) {
	for v, ok := a.found.pop(bound); ok; v, ok = a.found.pop(bound) {
		a.tell(v)
	}
}

func (a *Auditor) tell(v Violation) {
	if a.OnViolation != nil {
		a.OnViolation(v)
	}
}

func (a *Auditor) broken(b Broken) {
	a.result.Broken++
	if a.OnBroken != nil {
		a.OnBroken(b)
	}
}

// The method "unaudited" counts a request that cannot be judged. The request
// becomes a part of the open Span of its host. If there is none, the method
// opens one.
func (a *Auditor) unaudited(host string, at int64) {
	s := a.spans[host]
	if s == nil {
		s = &Span{Host: host, From: asTime(at), To: asTime(at)}
		a.spans[host] = s
	}
	if t := asTime(at); t.Before(s.From) {
		s.From = t
	} else if t.After(s.To) {
		s.To = t
	}
	s.Requests++
}

// The method "audited" ends the open Span of a host, if there is one, because a
// request could be judged.
func (a *Auditor) audited(host string) {
	if len(a.spans) == 0 {
		return
	}
	if s := a.spans[host]; s != nil {
		a.result.addSpan(*s)
		delete(a.spans, host)
	}
}
