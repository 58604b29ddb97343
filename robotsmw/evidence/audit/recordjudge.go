package audit

import (
	"cmp"
	"errors"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// judge judges a line. It returns an error if the record itself has a fault.
func (j *recordReader) judge(v *recordLine) error {
	switch v.Event {
	case "robot":
		j.setRobot(v)
		if len(v.Tokens) > 0 {
			j.name = clip(v.Tokens[0])
		}
	case "limiter":
		at(j.limiters, v.Limiter).recordLine = *v
	case "fetch":
		j.addFetch(v)
	case "robots":
		return j.robots(v)
	case "decision":
		if v.Decision != nil {
			return j.refusal(v.Target, v.Decision)
		}
	case "request":
		j.pace(v)
		j.request(v)
	case "answer", "pause", "done":
		j.pace(v)
	}
	return nil
}

// request judges the URL of a request.
func (j *recordReader) request(v *recordLine) {
	r, s := j.site(v.Target)
	at := v.Start.UnixNano()
	counts := j.a.counts(at)
	if counts {
		j.a.total.Requests++
		j.a.tally(r, s, &event{at: at})
	}
	j.limits(v)
	switch {
	case v.Robots && !j.isForRobots(v.Target):
		j.say(contradiction("the request is for a page, and not for a robots.txt"))
	case v.Robots && counts:
		r.sums.count("fetches", 1)
		return
	case v.Robots, v.Decision != nil && isFree(v.Target, v.Decision.Reason):
		return
	}
	err := j.page(v)
	switch {
	case !errors.Is(err, errUnknown):
		j.a.audited(s)
		if err != nil {
			j.say(err)
		}
	case counts:
		j.a.unaudited(r, s, at)
	}
}

// isFree reports whether a decision is correct that no robots.txt applies to a
// URL.
func isFree(target, reason string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	governed := u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ftp"
	return reason == "not-applicable" && !governed || reason == "robots-txt" && isRobots(target)
}

// page judges the URL of a page by the robots.txt in force. It returns an error
// if the request's decision does not follow from its robots.txt, or if the
// record does not have that file.
func (j *recordReader) page(v *recordLine) error {
	d := &recordDecision{Decided: v.Start, Allowed: true, RobotsURL: robotsURL(v.Target)}
	var groundless error // the page is judged as if it had no decision then
	if v.Decision != nil {
		if groundless = j.grounds(v.Target, v.Decision); groundless != nil {
			d.Decided = v.Decision.Decided
		} else if d = v.Decision; d.RobotsURL == "" && j.a.counts(v.Start.UnixNano()) {
			j.sums.count("overridden", 1)
		}
	}
	if v.Agreed && j.a.counts(v.Start.UnixNano()) {
		j.sums.count("agreed", 1)
	}
	in, err := j.stateFor(v, d)
	if err != nil || in == nil {
		return cmp.Or(groundless, err)
	}
	m, ok := j.verdict(*in, v.Target)
	switch {
	case !ok && j.partial:
		return errUnknown
	case !ok:
		return cmp.Or(groundless, error(errFetch))
	case in.SHA256 == "" && j.robot.AllowAfter30Days && in.unreachableFor30Days(d):
		m.Allowed = true
	}
	if !m.Allowed {
		j.report(Violation{Time: v.Start, URL: v.Target, Kind: "disallowed", Line: m.Line, Rule: ruleOf(m)})
	} else if groundless == nil && v.Decision != nil {
		return j.decided(v, *in, m)
	}
	return groundless
}

// decided checks the crawler's decision about a page that robots.txt allows. m
// is the result of robots.txt.
func (j *recordReader) decided(v *recordLine, in state, m robotstxt.Match) error {
	switch d := v.Decision; {
	case !d.Allowed:
		j.report(Violation{Time: v.Start, URL: v.Target, Kind: "disallowed", Line: d.Line, Rule: d.Rule})
	case d.SHA256 == in.SHA256 && !d.follows(m):
		return errDecision
	case d.RobotsURL != "" && j.origins[d.RobotsURL].isStale(d, in):
		j.report(Violation{Time: v.Start, URL: v.Target, Kind: "stale", Previous: in.Fetched,
			Gap: d.Decided.Sub(in.Fetched), Want: in.Expires.Sub(in.Fetched)})
	}
	return nil
}

// stateFor returns the state by which a page is judged, or nil if it was
// requested before there was one.
func (j *recordReader) stateFor(v *recordLine, d *recordDecision) (*state, error) {
	if d.RobotsURL == "" { // an override
		return &state{recordLine: &recordLine{SHA256: d.SHA256, Status: 200}}, nil
	}
	if o := j.origins[d.RobotsURL]; o != nil && len(o.states) > 0 {
		in := o.inForce(d)
		return &in, nil
	}
	if j.partial {
		return nil, errUnknown
	}
	if _, s := j.site(v.Target); !s.accused {
		s.accused = true
		j.report(Violation{Time: v.Start, URL: v.Target, Kind: "before-robots-txt"})
	}
	return nil, nil
}

// refusal judges a decision line. It returns an error if the decision does not
// follow from the robots.txt that it names.
func (j *recordReader) refusal(target string, d *recordDecision) error {
	if j.partial {
		return nil
	}
	if err := j.grounds(target, d); err != nil && !errors.Is(err, errUnknown) && !errors.Is(err, errFetch) {
		return err
	}
	if d.SHA256 == "" {
		return nil
	}
	verdict, ok := j.verdict(state{recordLine: &recordLine{SHA256: d.SHA256}}, target)
	if !ok || !verdict.Allowed && d.follows(verdict) {
		return nil // a missing robots.txt is reported only for requests
	}
	return errDecision
}
