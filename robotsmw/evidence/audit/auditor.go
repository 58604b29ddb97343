package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
)

// An Auditor judges requests in the order in which they began. Its zero value
// is ready for use. It is not safe for concurrent use.
type Auditor struct {
	// Groups maps the name in a robot's User-Agent to the names of the groups
	// that the robot obeys: the first of them that is in robots.txt, else "*".
	// It adds to the built-in list, which contains Googlebot-Image and others.
	// Robots whose lists have the same last name are assumed to share the
	// robots.txt files that they fetch, and so is the robot of that name.
	Groups map[string][]string
	// Only requests from Since on and before Until are judged and counted.
	// Earlier fetches of robots.txt are taken into account. A zero time means
	// no limit.
	Since, Until time.Time
	// Head identifies a line that a record must contain, as
	// evidence.Recorder.Head returns it: a hash, or a number and a hash
	// separated by a colon. "" means that no line is required.
	Head string
	// Format is the format of all logs, one of [Formats]. If "", the format of
	// each line is detected.
	Format string
	// Ignore contains the names of robots, in upper or lower case, that are not
	// judged: their requests are only counted, as "ignored".
	Ignore []string
	// OnViolation, if not nil, is called with each violation, in the order of
	// time, except for lines that are out of order by more than 90 seconds.
	OnViolation func(Violation)
	// OnRequest, if not nil, is called with each request of a robot that is
	// counted: the name of the robot as in the Result, and the time.
	OnRequest func(robot string, at time.Time)
	// OnBroken, if not nil, is called with each line or record that could not
	// be read or used, or is too far out of order. line is the number of the
	// line or, in a WARC file, of the record, counted from 1.
	OnBroken func(input string, line int, err error)

	each       func(*event)      // if not nil, receives the requests, which are then not judged
	robots     map[string]*robot // by name in lower case
	robotCache map[string]*robot // by name, so that names are seldom converted to lower case
	hosts      map[string]*host
	visits     map[string]*visits // by family and host
	given      history            // the robots.txt files of AddRobotsTxt
	seen       history            // the robots.txt files in WARC files
	window     window
	pool       eventPool
	judged     int64 // the latest time of an event that was judged
	first      int64 // the time of the earliest line
	hasFetch   bool  // the input contains a request for robots.txt
	names      int   // the number of robots, hosts and addresses; see maxNames
	paces      int   // the number of paces
	peers      peers
	unnamed    int // requests without a User-Agent
	total      Tally
	lines      int
	openSpans  map[string]*Tally // by host
	spans      []Tally           // the spans that have ended
	files      []*file           // the latest result of copies, so that its memory is used again
	records    []*Tally
}

// A robot is the state of the audit for one robot.
type robot struct {
	name    string
	product product
	sites   map[string]*site
	sums    *Tally
}

// AddRobotsTxt adds a robots.txt that is in force from the given time on, or
// always if that time is zero. host is "example.com", or "https://example.com"
// if http and https have different files; "" means every host. status is the
// status of the response. With a 2xx, body is the file, and with a 3xx, the
// target of the redirect. A 304, 429, 444, 499 or 5xx has no effect, and any
// other status allows everything.
//
// AddRobotsTxt must be called before Read. A host without such a file is judged
// by the robots.txt files in WARC files.
func (a *Auditor) AddRobotsTxt(host string, from time.Time, status int, body []byte) {
	at := int64(never)
	if !from.IsZero() {
		at = from.UnixNano()
	}
	c := &capture{status: status, body: body}
	scheme, name := splitOrigin(host)
	if status/100 == 3 {
		c.to, _ = redirect(cmp.Or(scheme, "http")+"://"+name+"/robots.txt", string(body))
	}
	a.given.add(scheme, name, at, c)
}

// Result judges the remaining requests, ends the audit, and returns its result.
func (a *Auditor) Result() *Result {
	a.init()
	for e := a.window.pop(true); e != nil; e = a.window.pop(true) {
		a.judge(e)
		a.pool.put(e)
	}
	for _, s := range a.openSpans {
		a.endSpan(*s)
	}
	clear(a.openSpans)
	r := &Result{Tally: a.total, Spans: a.spans, Records: a.records}
	r.Tally.count("lines", a.lines)
	r.Tally.count("unnamed", a.unnamed)
	for _, robot := range a.robots {
		r.Robots = append(r.Robots, robot.sums)
	}
	for _, host := range a.hosts {
		r.Hosts = append(r.Hosts, host.Tally)
	}
	r.sort()
	return r
}

// add adds an event to the window, and judges the events that no event of a
// later line can precede.
func (a *Auditor) add(e *event) {
	a.window.push(e)
	for e := a.window.pop(false); e != nil; e = a.window.pop(false) {
		a.judge(e)
		a.pool.put(e)
	}
}

// init initializes the Auditor, unless an earlier call has done so.
func (a *Auditor) init() {
	if a.robots != nil {
		return
	}
	a.robots = make(map[string]*robot)
	a.robotCache = make(map[string]*robot)
	a.hosts = make(map[string]*host)
	a.visits = make(map[string]*visits)
	a.openSpans = make(map[string]*Tally)
	a.seen.recent = maxFetches
	a.window.newest = never
	a.judged = never
	a.first = never
}

// noteLine updates a.first with the time of a line.
func (a *Auditor) noteLine(at int64) {
	if a.first == never || at < a.first {
		a.first = at
	}
}

// counts reports whether requests at this time are judged and counted.
func (a *Auditor) counts(at int64) bool {
	return (a.Since.IsZero() || at >= a.Since.UnixNano()) && !a.isAfter(at)
}

// isAfter reports whether a time is not before Until.
func (a *Auditor) isAfter(at int64) bool { return !a.Until.IsZero() && at >= a.Until.UnixNano() }

// addName counts one more name. It reports whether the limit maxNames allows
// it.
func (a *Auditor) addName() bool {
	a.names++
	return a.names <= maxNames
}

// robot returns the robot with a name, and adds it if it is new. All robots
// beyond the limit share a Tally.
func (a *Auditor) robot(name string) *robot {
	if r := a.robotCache[name]; r != nil {
		return r
	}
	key := strings.ToLower(name)
	name = strings.Clone(name) // name may be a part of a long line
	if r := a.robots[key]; r != nil {
		if len(a.robotCache) >= maxCacheEntries {
			clear(a.robotCache)
		}
		a.robotCache[name] = r
		return r
	}
	key = strings.Clone(key)
	r := &robot{name: name, product: newProduct(name, a.Groups), sites: make(map[string]*site)}
	if a.addName() {
		a.robots[key] = r
		r.sums = newTally(name)
		return r
	}
	if a.robots[rest] == nil {
		a.robots[rest] = &robot{sums: newTally(rest)}
	}
	r.sums = a.robots[rest].sums
	return r
}

// host returns the host with a name, and adds it if it is new. All hosts beyond
// the limit are one.
func (a *Auditor) host(name string) *host {
	if a.hosts[name] == nil && !a.addName() {
		name = rest
	}
	if a.hosts[name] == nil {
		name = strings.Clone(name)
		a.hosts[name] = &host{Tally: newTally(name)}
	}
	return a.hosts[name]
}

// site returns the site of a robot and a host, and adds it if it is new. A site
// beyond the limit is not kept.
func (a *Auditor) site(r *robot, host string) *site {
	s := r.sites[host]
	if s != nil {
		return s
	}
	s = &site{host: a.host(host), paces: make(map[string]*pace)}
	r.sums.count("hosts", 1)
	if !a.addName() {
		s.visits = new(visits)
		s.accused = true // because its earlier fetches are not known
		return s
	}
	r.sites[strings.Clone(host)] = s
	s.visits = at(a.visits, r.product.family+" "+host)
	return s
}

// pace returns the pace of a client on a site, and adds it if it is new. Beyond
// the limit, all paces are removed first, so one gap of each client is lost.
func (a *Auditor) pace(s *site, address string) *pace {
	p := s.paces[address]
	if p != nil {
		return p
	}
	a.paces++
	if a.paces > maxNames {
		a.paces = 1
		for _, r := range a.robots {
			for _, s := range r.sites {
				clear(s.paces)
			}
		}
	}
	p = newPace()
	s.paces[strings.Clone(address)] = p
	return p
}

// judge counts a request and reports its violations. If a.each is not nil,
// judge only passes the request to a.each.
func (a *Auditor) judge(e *event) {
	if a.each != nil {
		a.each(e)
		return
	}
	isLate := e.at < a.judged // too far out of order to be compared with earlier events
	a.judged = max(a.judged, e.at)
	if a.isAfter(e.at) {
		return
	}
	if e.host == "" {
		e.host = a.given.onlyHost()
	}
	if a.isIgnored(e.robot) {
		a.ignore(e)
		return
	}
	if a.peers.isProxy(e.address) {
		e.address = ""
		e.isAnonymous = true
	}
	r := a.robot(e.robot)
	s := a.site(r, e.host)
	p := a.pace(s, e.address)
	if a.counts(e.at) {
		a.tally(r, s, e)
		if !p.isListed {
			p.isListed = true
			a.addAddress(r.sums, e.address)
		}
	}
	if e.isFile {
		a.fetch(e, r, s, p)
	} else if pathAndQuery(e.url) != "" {
		a.page(e, r, s, p, isLate)
	}
	if e.wait > 0 && requestsPause(e.status) && !e.isAnonymous {
		p.pause(e)
	}
}

// isIgnored reports whether the requests of a robot are only counted.
func (a *Auditor) isIgnored(robot string) bool {
	return slices.ContainsFunc(a.Ignore, func(name string) bool { return strings.EqualFold(name, robot) })
}

// ignore counts a request. A robots.txt that it received is in force for other
// robots too.
func (a *Auditor) ignore(e *event) {
	if a.counts(e.at) {
		a.total.count("ignored", 1)
	}
	if e.isFile && e.capture != nil && !e.notGet {
		a.seen.add(e.scheme, e.host, e.time(), e.capture)
	}
}

// requestsPause reports whether a Retry-After with this status requests a pause
// (RFC 9110 §10.2.3, RFC 6585 §4).
func requestsPause(status int) bool {
	return httpstatus.IsThrottled(status) || httpstatus.IsOverloaded(status) || status/100 == 3
}

// tally counts a request of a robot to a host.
func (a *Auditor) tally(r *robot, s *site, e *event) {
	r.sums.Requests++
	r.sums.include(e.at)
	r.sums.day(e.at).Requests++
	s.host.Requests++
	if a.OnRequest != nil {
		a.OnRequest(r.sums.Name, asTime(e.at))
	}
	if e.isAnonymous {
		r.sums.count("anonymous", 1)
		a.total.count("anonymous", 1)
	}
}

// addAddress adds the address of a client to the Tally of a robot.
func (a *Auditor) addAddress(t *Tally, address string) {
	if address == "" || t.addresses[address] || !a.addName() {
		return
	}
	address = strings.Clone(address)
	t.addresses[address] = true
	t.Addresses = append(t.Addresses, address)
}

// fetch processes a request for robots.txt.
func (a *Auditor) fetch(e *event, r *robot, s *site, p *pace) {
	v := s.visits
	at := e.time()
	v.hasFetch = true
	a.hasFetch = true
	s.host.cache.add(e)
	if p.latest == never && p.since == never {
		p.since = at
	}
	if a.counts(e.at) {
		r.sums.count("fetches", 1)
	}
	f := fetch{at: at, scheme: strings.Clone(e.scheme)} // e.scheme is a part of the URL
	s.isRedirected = e.status/100 == 3 && e.status != 304 && e.capture == nil
	if e.notGet {
		return
	}
	if isFailure(e.status) {
		v.failed = max(v.failed, at)
		return
	}
	switch {
	case e.capture != nil:
		a.seen.add(e.scheme, e.host, at, e.capture)
		if e.capture.to != "" {
			return // redirected
		}
		f.file = a.seen.at(e.scheme, e.host, at)
	case e.status/100 == 4: // there is no robots.txt, so nothing is disallowed (RFC 9309 §2.3.1.3)
		s.host.gone = e.status
		f.file = noFile
	case e.status/100 == 2 || e.status == 304:
		s.host.gone = 0
		f.file = a.inForce(e, s)
		a.files = a.given.appendSince(a.files[:0], e, e.at-e.doubt)
		if len(a.files) > 1 {
			f.file = nil // the file may have changed between the request and its line
		}
	default:
		return // redirected
	}
	v.add(f)
}

// noFile represents a robots.txt that does not exist.
var noFile = newFile(&capture{status: 404})

// inForce returns the file that was in force when a request was made, or nil if
// none is known. After a 404 or 410, it returns noFile until a 2xx or 304.
// Another 4xx may concern only the robot that received it, so robots that have
// received the file since the log began still obey that file.
func (a *Auditor) inForce(e *event, s *site) *file {
	if s.host.gone != 0 && e.capture == nil {
		isGoneForAll := s.host.gone == 404 || s.host.gone == 410
		if isGoneForAll || len(s.visits.fetches) == 0 {
			return noFile
		}
	}
	if f := a.given.at(e.scheme, e.host, e.at); f != nil {
		return f
	}
	return a.seen.at(e.scheme, e.host, e.at)
}

// page judges a request for a page. If isLate is true, the request is not
// compared with earlier events.
func (a *Auditor) page(e *event, r *robot, s *site, p *pace, isLate bool) {
	counts := a.counts(e.at)
	e.isHop = s.isRedirected && (s.hop == "" || s.hop == clip(e.url))
	if e.isHop {
		s.isRedirected = false
		s.hop = strings.Clone(clip(e.url))
	}
	isShown := s.visits.hasFetch || s.accused // the robot has received robots.txt
	f := a.inForce(e, s)
	isKnown := f != nil
	if isKnown {
		if s.file != f {
			s.file = f
			s.rules = f.rulesFor(r.product)
		}
		var hasFailed bool
		isKnown, hasFailed = a.judgeURL(e, r, s)
		isShown = isShown && !hasFailed
	}
	if counts && !isLate && a.hasNoFile(e, s) {
		s.accused = true
		isShown = true
		a.accuse(Violation{Kind: "before-robots-txt"}, e, r, s)
	}
	if !isLate && !e.isHop && !e.isAnonymous {
		a.judgePace(e, r, s, p)
	}
	if !counts {
		return
	}
	if !isKnown {
		a.unaudited(r, s, e.at)
		return
	}
	if !isShown {
		r.sums.count("not_shown", 1)
		a.total.count("not_shown", 1)
	}
	a.audited(s)
}

// hasNoFile reports whether a robot that requests a page cannot have received
// robots.txt: it has not requested the file since the input began, which was
// more than 24 hours before, and no shared cache can have responded to the
// robot instead.
func (a *Auditor) hasNoFile(e *event, s *site) bool {
	if s.visits.hasFetch || s.accused || !a.hasFetch {
		return false
	}
	hasPassedDay := e.at-e.doubt > a.first+int64(fresh)
	return hasPassedDay && (e.isAtEdge || s.host.cache.isDirect(e.at))
}

// judgePace compares the time of a request for a page with that of the previous
// page, and with the pause that an earlier Retry-After requested.
func (a *Auditor) judgePace(e *event, r *robot, s *site, p *pace) {
	obeyed := a.obeyed(e, r, s)
	previous := p.latest
	isShort, gap := p.next(e, int64(obeyed.delay))
	if gap >= 0 && a.counts(e.at) {
		r.sums.addGap(time.Duration(gap), obeyed.delay)
	}
	if isShort {
		a.accuse(Violation{
			Kind:     "gap",
			Line:     obeyed.line,
			Rule:     obeyed.field,
			Previous: asTime(previous),
			Gap:      time.Duration(gap),
			Want:     obeyed.delay,
		}, e, r, s)
	}
	if p.isPaused(e) {
		a.accuse(Violation{
			Kind:     "retry-after",
			Previous: asTime(p.pauseStart),
			Gap:      time.Duration(e.at - p.pauseStart),
			Want:     time.Duration(p.pauseEnd - p.pauseStart),
		}, e, r, s)
	}
}

// obeyed returns, of the rules that the robot may obey, those with the shortest
// Crawl-delay.
func (a *Auditor) obeyed(e *event, r *robot, s *site) *rules {
	obeyed := cmp.Or(s.rules, noRules)
	if obeyed.delay <= 0 {
		return obeyed
	}
	for _, f := range a.copies(e, s) {
		copied := s.rulesIn(cmp.Or(f, noFile), r)
		if copied.delay < obeyed.delay {
			obeyed = copied
		}
	}
	return obeyed
}

// rulesIn returns the rules of a file for the robot of the site.
func (s *site) rulesIn(f *file, r *robot) *rules {
	if f == s.file {
		return s.rules
	}
	return f.rulesFor(r.product)
}

// judgeURL reports a violation if the file in force disallows a page, unless
// the robot may still use the file that it fetched last, and that file allows
// the page. known is false if the robot may still use a file that is not known.
// failed is true if all fetches of the robot have failed, so that it may have
// an older copy.
func (a *Auditor) judgeURL(e *event, r *robot, s *site) (known, failed bool) {
	last, ok := s.visits.last(e.scheme, e.at)
	failed = !ok && s.visits.failed != 0
	verdict := s.file.judge(s.rules, e.url)
	if verdict.Allowed || e.isHop {
		return verdict.Allowed, failed
	}
	for _, f := range a.copies(e, s) {
		if f == nil || f.judge(s.rulesIn(f, r), e.url).Allowed {
			return f != nil, failed
		}
	}
	v := Violation{Kind: "disallowed", Line: verdict.Line, Rule: ruleText(verdict)}
	isStale := ok && last.file != nil && last.file.judge(s.rulesIn(last.file, r), e.url).Allowed
	if isStale {
		v.Kind = "stale"
		v.Previous = asTime(last.at)
		v.Gap = time.Duration(e.at - last.at)
		v.Want = fresh
	}
	a.accuse(v, e, r, s)
	return true, false
}

// copies returns the files that the robot may still use instead of the one in
// force, because it has fetched them, possibly before the input began. A file
// that is not known is nil. The result is valid until the next call.
func (a *Auditor) copies(e *event, s *site) []*file {
	last, ok := s.visits.last(e.scheme, e.at)
	since := e.at - e.doubt - int64(fresh)
	switch {
	case !ok && s.visits.failed == 0:
		a.files = a.given.appendSince(a.files[:0], e, since)
	case !ok || last.at >= since || s.visits.failed > last.at:
		a.files = append(a.files[:0], last.file)
	default:
		return nil
	}
	return a.files
}

// maxURL limits the URL of a Violation, in bytes.
const maxURL = 2 << 10

// accuse reports that a request violated a rule.
func (a *Auditor) accuse(v Violation, e *event, r *robot, s *site) {
	v.Time = asTime(e.at)
	v.Robot = r.name
	v.Address = e.address
	v.Host = e.host
	v.URL = e.url
	a.report(v, r, s)
}

// report counts a violation and passes it to OnViolation.
func (a *Auditor) report(v Violation, r *robot, s *site) {
	if !a.counts(v.Time.UnixNano()) {
		return
	}
	for _, t := range []*Tally{&a.total, s.host.Tally, r.sums, r.sums.day(v.Time.UnixNano())} {
		t.Violations++
		t.count(v.Kind, 1)
	}
	if a.OnViolation != nil {
		a.OnViolation(v.clone())
	}
}

// clone returns v with copies of its texts, because the caller may keep v, and
// the texts may be parts of a long line or of a whole robots.txt. A long URL is
// shortened.
func (v Violation) clone() Violation {
	v.Address = strings.Clone(v.Address)
	v.Host = strings.Clone(v.Host)
	v.Rule = strings.Clone(v.Rule)
	if len(v.URL) > maxURL {
		v.URL = strings.ToValidUTF8(v.URL[:maxURL], "") + "…" // a new string
	} else {
		v.URL = strings.Clone(v.URL)
	}
	return v
}

// reportBroken counts a line or record that could not be read or used, and
// passes it to OnBroken.
func (a *Auditor) reportBroken(input string, line int, err error) {
	a.total.count("broken", 1)
	if a.OnBroken != nil {
		a.OnBroken(input, line, err)
	}
}

// unaudited counts a request that cannot be judged. The request becomes a part
// of the open span of its host.
func (a *Auditor) unaudited(r *robot, s *site, began int64) {
	for _, t := range []*Tally{&a.total, r.sums, r.sums.day(began)} {
		t.count("unaudited", 1)
	}
	span := at(a.openSpans, s.host.Name)
	span.Name = s.host.Name
	span.include(began)
	span.Requests++
}

// audited ends the open span of a host, if there is one, because a request
// could be judged.
func (a *Auditor) audited(s *site) {
	if span := a.openSpans[s.host.Name]; span != nil {
		a.endSpan(*span)
		delete(a.openSpans, s.host.Name)
	}
}

// endSpan adds a span to the Result. The last span covers all spans beyond
// maxSpans.
func (a *Auditor) endSpan(s Tally) {
	if len(a.spans) < maxSpans {
		a.spans = append(a.spans, s)
		return
	}
	last := &a.spans[maxSpans-1]
	last.Name = rest
	last.Requests += s.Requests
	last.include(s.First.UnixNano())
	last.include(s.Last.UnixNano())
}
