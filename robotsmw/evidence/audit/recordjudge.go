package audit

import (
	"cmp"
	"errors"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// judge judges the event of a line and reports violations. It returns an error
// if the line contradicts the record.
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
			return j.checkDisallowed(v.Target, v.Decision)
		}
	case "request":
		j.addPace(v)
		j.request(v)
	case "answer", "pause", "done":
		j.addPace(v)
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
	j.checkLimiter(v)
	if v.Robots && j.isForRobots(v.Target) {
		if counts {
			r.sums.count("fetches", 1)
		}
		return
	}
	if v.Robots {
		j.reportFault(contradiction("the request is marked as one for a robots.txt, but its URL is that of a page"))
	} else if v.Decision != nil && isExempt(v.Target, v.Decision.Reason) {
		return
	}
	err := j.page(v)
	if errors.Is(err, errUnknown) {
		if counts {
			j.a.unaudited(r, s, at)
		}
		return
	}
	j.a.audited(s)
	if err != nil {
		j.reportFault(err)
	}
}

// isExempt reports whether the reason of a decision is that no robots.txt
// applies to the URL, and whether this reason is correct.
func isExempt(target, reason string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	switch reason {
	case "not-applicable":
		return u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ftp"
	case "robots-txt":
		return isRobots(target)
	}
	return false
}

// page judges the URL of a page by the robots.txt in force. It returns an error
// if the request's decision does not follow from its robots.txt, or if the
// record does not contain that file.
func (j *recordReader) page(v *recordLine) error {
	d := &recordDecision{Decided: v.Start, Allowed: true, RobotsURL: robotsURL(v.Target)}
	counts := j.a.counts(v.Start.UnixNano())
	var groundless error // if not nil, the page is judged as if it had no decision
	if v.Decision != nil {
		groundless = j.checkGrounds(v.Target, v.Decision)
		if groundless != nil {
			d.Decided = v.Decision.Decided
		} else {
			d = v.Decision
			if d.RobotsURL == "" && counts {
				j.sums.count("overridden", 1)
			}
		}
	}
	if v.Agreed && counts {
		j.sums.count("agreed", 1)
	}
	in, err := j.stateFor(v, d)
	if err != nil || in == nil {
		return cmp.Or(groundless, err)
	}
	m, ok := j.verdict(*in, v.Target)
	if !ok && j.partial {
		return errUnknown
	}
	if !ok {
		return cmp.Or(groundless, error(errFetch))
	}
	if in.SHA256 == "" && j.robot.AllowAfter30Days && in.unreachableFor30Days(d) {
		m.Allowed = true
	}
	if !m.Allowed {
		j.report(Violation{Time: v.Start, URL: v.Target, Kind: "disallowed", Line: m.Line, Rule: ruleText(m)})
		return groundless
	}
	if groundless != nil || v.Decision == nil {
		return groundless
	}
	return j.checkDecision(v, *in, m)
}

// checkDecision checks the crawler's decision about a page that robots.txt
// allows. m is the result of robots.txt for the page.
func (j *recordReader) checkDecision(v *recordLine, in state, m robotstxt.Match) error {
	d := v.Decision
	if !d.Allowed {
		j.report(Violation{Time: v.Start, URL: v.Target, Kind: "disallowed", Line: d.Line, Rule: d.Rule})
		return nil
	}
	if d.SHA256 == in.SHA256 && !d.matches(m) {
		return errDecision
	}
	if d.RobotsURL != "" && j.origins[d.RobotsURL].isStale(d, in) {
		j.report(Violation{
			Time:     v.Start,
			URL:      v.Target,
			Kind:     "stale",
			Previous: in.Fetched,
			Gap:      d.Decided.Sub(in.Fetched),
			Want:     in.Expires.Sub(in.Fetched),
		})
	}
	return nil
}

// stateFor returns the state by which a page is judged. If the record contains
// no earlier state for the page's origin, stateFor reports a violation, once
// per host, and returns nil. If the record is partial, it returns errUnknown
// instead.
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

// checkDisallowed returns an error if a decision that disallows target does not
// follow from the robots.txt on which it is based. It returns nil if the record
// does not contain that robots.txt: this is reported only for requests.
func (j *recordReader) checkDisallowed(target string, d *recordDecision) error {
	if j.partial {
		return nil
	}
	err := j.checkGrounds(target, d)
	isMissing := errors.Is(err, errUnknown) || errors.Is(err, errFetch)
	if err != nil && !isMissing {
		return err
	}
	if d.SHA256 == "" {
		return nil
	}
	verdict, ok := j.verdict(state{recordLine: &recordLine{SHA256: d.SHA256}}, target)
	if !ok || !verdict.Allowed && d.matches(verdict) {
		return nil
	}
	return errDecision
}
