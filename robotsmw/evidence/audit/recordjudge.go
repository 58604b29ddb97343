package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A recordJudge judges a robot by the lines of its record. Each Limiter in a
// record has a clock of its own.
type recordJudge struct {
	a        *Auditor
	name     string
	tokens   []string
	override map[string]string
	forbid   bool                        // whether 401 and 403 forbid everything
	after30  bool                        // whether everything is allowed after 30 days without a robots.txt
	partial  bool                        // the beginning of the record is missing
	files    map[string]*robotstxt.Rules // by the hash of the file
	origins  map[string][]state          // the latest states, by the URL of robots.txt
	limiters map[int]*recordLine         // by the Limiter's number
	hosts    map[string]*recordHost      // by the Limiter's number and the host's key
	starts   []*recordLine               // lines about the pace that are not judged yet, sorted by time
	newest   time.Time                   // the latest time of a line about the pace
}

// A state is what was known about an origin's robots.txt from state.from on.
type state struct {
	from, fetched, expires time.Time
	sha256                 string
	status                 int
	failed                 bool      // robots.txt could not be fetched
	since                  time.Time // when this series of failures began, if failed is true
	answered               time.Time // the time of the last good fetch before these failures; zero if not known
}

// A recordHost is the pace of one host.
type recordHost struct {
	last, lastPage *recordLine // last is the latest request, and lastPage the latest one for a page
	asked, left    time.Time   // the begin and the end of the pause that ends last
}

const keptStates = 8

// The constant "settles" is how long a new robots.txt may be in the record
// before the crawler must obey it. The crawler records a file before it uses
// it.
const settles = 5 * time.Second

func newRecordJudge(a *Auditor) *recordJudge {
	j := &recordJudge{a: a, files: make(map[string]*robotstxt.Rules), origins: make(map[string][]state)}
	j.session()
	return j
}

// session begins a session. Its Limiters and clocks are new.
func (j *recordJudge) session() {
	j.flush()
	j.limiters, j.hosts, j.newest = make(map[int]*recordLine), make(map[string]*recordHost), time.Time{}
}

func (j *recordJudge) file(sha256 string, text []byte) {
	j.files[sha256] = robotstxt.Parse(text).Rules(j.tokens...)
}

// line judges a line. It returns an error if the record itself has a fault.
func (j *recordJudge) line(v *recordLine) error {
	switch v.Event {
	case "robot":
		if j.tokens != nil && !slices.Equal(j.tokens, v.Tokens) {
			clear(j.files) // j.files has the rules for another robot
		}
		j.tokens, j.forbid, j.after30, j.override = v.Tokens, v.DisallowForbidden, v.AllowAfter30Days, v.Override
		j.name = "unknown"
		if len(v.Tokens) > 0 {
			j.name = clip(v.Tokens[0])
		}
	case "limiter":
		j.limiters[v.Limiter] = v
	case "robots":
		s := state{from: v.Time, fetched: v.Fetched, expires: v.Expires, sha256: v.SHA256, status: v.Status, failed: v.Cause != "", since: v.Time}
		states := j.origins[v.URL]
		if n := len(states); n > 0 && s.failed {
			if last := states[n-1]; last.failed {
				s.since, s.answered = last.since, last.answered
			} else {
				s.answered = last.from
			}
		}
		states = append(states, s)
		if len(states) > keptStates {
			states = slices.Delete(states, 0, 1)
		}
		j.origins[v.URL] = states
	case "request", "answer", "pause":
		// The record has lines in the order in which they were noted. They are
		// judged in the order of the events.
		at := v.happened()
		i, _ := slices.BinarySearchFunc(j.starts, at, func(v *recordLine, at time.Time) int {
			if c := v.happened().Compare(at); c != 0 {
				return c
			}
			return -1
		})
		j.starts = slices.Insert(j.starts, i, v)
		if at.After(j.newest) {
			j.newest = at
		}
		for len(j.starts) > 0 && (len(j.starts) > windowEvents || j.starts[0].happened().Before(j.newest.Add(-reach))) {
			j.judge(j.starts[0])
			j.starts = slices.Delete(j.starts, 0, 1)
		}
		if v.Event == "request" {
			return j.request(v)
		}
	case "decision":
		return j.refusal(v)
	}
	return nil
}

func (j *recordJudge) flush() {
	for _, v := range j.starts {
		j.judge(v)
	}
	j.starts = nil
}

// judge judges the pace of a request. From answer lines and pause lines, it
// learns when the host must be left alone.
func (j *recordJudge) judge(v *recordLine) {
	key := fmt.Sprint(v.Limiter, " ", v.Host)
	h := j.hosts[key]
	if h == nil {
		h = new(recordHost)
		j.hosts[key] = h
	}
	switch v.Event {
	case "answer":
		if v.Asks > 0 && (v.Status == 429 || v.Status == 503 || v.Status/100 == 3) {
			wait := asDuration(v.Asks)
			if l := j.limiters[v.Limiter]; l != nil && l.MaxRetryAfter > 0 {
				wait = min(wait, asDuration(l.MaxRetryAfter))
			}
			h.rest(v.At, v.At.Add(min(wait, maxRest)))
		}
	case "pause":
		h.rest(v.At, v.Until)
	case "request":
		j.gap(v, h)
	}
}

func (h *recordHost) rest(at, until time.Time) {
	if until.After(h.left) {
		h.asked, h.left = at, until
	}
}

// gap reports a violation if a request for a page began in a pause, or if any
// request began too soon after an earlier one.
func (j *recordJudge) gap(v *recordLine, h *recordHost) {
	r, s := j.site(v)
	violation := Violation{Time: v.Start, Robot: r.name, Host: s.host.Name, URL: v.Target}
	if v.Start.Before(h.left) && v.Start.After(h.asked) && !v.Robots {
		violation := violation
		violation.Kind, violation.Previous = RetryAfter, h.asked
		violation.Gap, violation.Want = v.Start.Sub(h.asked), h.left.Sub(h.asked)
		j.a.report(violation, r, s)
	}
	// Any two requests must be at least the delay apart, and any two requests
	// for pages at least the Crawl-delay. If both gaps are too short, only the
	// gap that misses its minimum by more is reported.
	short := func(last *recordLine, want time.Duration) time.Duration {
		if last == nil {
			return 0
		}
		return want - v.Start.Sub(last.Start)
	}
	last, want := h.last, asDuration(v.Delay)
	if !v.Robots {
		crawlDelay := asDuration(j.crawlDelay(v))
		if h.lastPage != nil {
			r.sums.gap(v.Start.Sub(h.lastPage.Start), crawlDelay)
		}
		if short(h.lastPage, crawlDelay) > short(last, want) {
			last, want = h.lastPage, crawlDelay
		}
	}
	if short(last, want) > 0 {
		violation.Kind, violation.Previous, violation.Gap, violation.Want = Gap, last.Start, v.Start.Sub(last.Start), want
		j.a.report(violation, r, s)
	}
	h.last = v
	if !v.Robots {
		h.lastPage = v
	}
}

// crawlDelay returns the Crawl-delay that a request must keep. This is the
// longer of two: the Crawl-delay in the request's line, and the one in the
// robots.txt that the request's decision names. The latter is at most the
// Limiter's MaxCrawlDelay if ClampDelay is set.
func (j *recordJudge) crawlDelay(v *recordLine) float64 {
	delay := v.CrawlDelay
	if v.Decision == nil {
		return delay
	}
	rules := j.files[v.Decision.SHA256]
	if rules == nil {
		return delay
	}
	asked, _ := rules.CrawlDelay()
	if l := j.limiters[v.Limiter]; l != nil && l.ClampDelay && l.MaxCrawlDelay > 0 {
		asked = min(asked, asDuration(l.MaxCrawlDelay))
	}
	return max(delay, asked.Seconds())
}

func (j *recordJudge) site(v *recordLine) (*robot, *site) {
	r := j.a.robot(j.name)
	_, host := originOf(v.Target)
	return r, j.a.site(r, host)
}

var (
	errDecision = errors.New("changed: the decision does not follow from the robots.txt that it names")
	errFetch    = errors.New("the decision rests on a robots.txt that the record does not have")
)

// request judges the URL of a request. It returns an error if the request's
// decision does not follow from its robots.txt, or if the record does not have
// that file.
func (j *recordJudge) request(v *recordLine) error {
	r, s := j.site(v)
	at := v.Start.UnixNano()
	j.a.result.Requests++
	r.sums.Requests++
	s.host.Requests++
	r.sums.seen(at)
	day := r.sums.day(at)
	day.Requests++
	if v.Robots {
		r.sums.Fetches++
		return nil
	}
	d := v.Decision
	violation := Violation{Time: v.Start, Robot: r.name, Host: s.host.Name, URL: v.Target}
	if d == nil {
		d = &recordDecision{Decided: v.Start, Allowed: true, RobotsURL: j.robotsURL(v.Target)}
	} else if d.Reason == "not-applicable" {
		return nil
	}
	unaudited := func() {
		day.Unaudited++
		r.sums.Unaudited++
		j.a.result.Unaudited++
		j.a.unaudited(s.host.Name, at)
	}
	known := j.origins[d.RobotsURL]
	if d.RobotsURL != "" && len(known) == 0 {
		if j.partial {
			unaudited()
			return nil
		}
		if !s.accused {
			s.accused = true
			violation.Kind = BeforeRobotsTxt
			j.a.report(violation, r, s)
		}
		return nil
	}
	// The decision is judged by the file in force. In the first seconds after a
	// change, the decision may still name the previous file. That file then
	// counts as the file in force.
	inForce := state{sha256: d.SHA256, status: 200}
	if d.RobotsURL != "" {
		inForce = known[0]
		for _, one := range known {
			if !one.from.Add(settles).After(d.Decided) || one.fetched.Equal(d.Fetched) && one.from.Before(d.Decided.Add(settles)) {
				inForce = one
			}
		}
		if !d.Fetched.IsZero() && !slices.ContainsFunc(known, func(s state) bool { return s.fetched.Equal(d.Fetched) }) {
			if j.partial || len(known) == keptStates {
				unaudited()
				return nil
			}
			j.a.result.Cut++
			return errFetch
		}
	}
	verdict, ok := j.verdict(inForce, v.Target)
	if !ok {
		if j.partial {
			unaudited()
			return nil
		}
		j.a.result.Cut++
		return errFetch
	}
	if inForce.sha256 == "" && j.after30 && inForce.unreachableFor30Days(d) {
		verdict.Allowed = true
	}
	switch {
	case !verdict.Allowed:
		violation.Kind, violation.Line, violation.Rule = Disallowed, verdict.Line, ruleOf(verdict)
		j.a.report(violation, r, s)
	case v.Decision == nil:
	case !d.Allowed:
		violation.Kind, violation.Line, violation.Rule = Disallowed, d.Line, d.Rule
		j.a.report(violation, r, s)
	case d.SHA256 == inForce.sha256 && !d.follows(verdict):
		j.a.result.Cut++
		return errDecision
	case d.RobotsURL != "" && j.isStale(d, inForce, known):
		violation.Kind, violation.Previous = Stale, inForce.fetched
		violation.Gap, violation.Want = d.Decided.Sub(inForce.fetched), inForce.expires.Sub(inForce.fetched)
		j.a.report(violation, r, s)
	}
	j.a.audited(s.host.Name)
	return nil
}

// refusal judges a decision line. It returns an error if the decision does not
// follow from the robots.txt that it names.
func (j *recordJudge) refusal(v *recordLine) error {
	d := v.Decision
	if d == nil || d.SHA256 == "" {
		return nil
	}
	verdict, ok := j.verdict(state{sha256: d.SHA256}, v.Target)
	if !ok || !verdict.Allowed && d.follows(verdict) {
		return nil // a missing robots.txt is reported only for requests
	}
	j.a.result.Cut++
	return errDecision
}

// isStale reports whether the file that a decision names was too old. A file
// that was not in force was too old. A file in force was too old if its
// lifetime had ended more than five seconds before the decision. There are two
// exceptions for the file in force: a later fetch had failed before the
// decision, or the decision is marked stale and was made at most 24 hours after
// the file was fetched.
func (j *recordJudge) isStale(d *recordDecision, inForce state, known []state) bool {
	switch {
	case d.SHA256 != inForce.sha256:
		return true
	case inForce.expires.IsZero() || !d.Decided.After(inForce.expires.Add(settles)):
		return false
	case d.Stale && d.Decided.Sub(inForce.fetched) <= fresh:
		return false
	}
	return !slices.ContainsFunc(known, func(s state) bool { return s.failed && !s.from.After(d.Decided) && !s.from.Before(inForce.from) })
}

// unreachableFor30Days reports whether robots.txt was unreachable for 30 days
// up to the last fetch. The failures may have begun before the record, in an
// earlier process with the same Store. So the decision d may name an earlier
// beginning of the failures. That beginning counts, unless the record has a
// good answer after it.
func (s state) unreachableFor30Days(d *recordDecision) bool {
	since := s.since
	if claimed := d.FailedSince; !claimed.IsZero() && claimed.Before(since) && claimed.Add(settles).After(s.answered) {
		since = claimed
	}
	return s.failed && s.from.Sub(since) >= 30*24*time.Hour
}

// verdict judges a URL by a state. It judges all forms of the path, as the
// crawler does. ok is false if the record does not have the state's file.
func (j *recordJudge) verdict(s state, target string) (m robotstxt.Match, ok bool) {
	if s.sha256 == "" {
		forbids := s.failed || j.forbid && (s.status == 401 || s.status == 403)
		return robotstxt.Match{Allowed: !forbids}, true
	}
	rules := j.files[s.sha256]
	if rules == nil {
		return m, false
	}
	m, _ = rules.MatchResolved(target)
	return m, true
}

func (j *recordJudge) robotsURL(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest + "/robots.txt"
}

func asDuration(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), 9e9) * float64(time.Second))
}
