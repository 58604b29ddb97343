package audit

import (
	"errors"
	"net/url"
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
		j.limiter(v.Limiter).recordLine = v
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
		return j.request(v)
	case "answer", "pause", "done":
		j.pace(v)
	}
	return nil
}

// request judges the URL of a request. It returns an error if the request's
// decision does not follow from its robots.txt, or if the record does not have
// that file.
func (j *recordReader) request(v *recordLine) error {
	r, s := j.site(v.Target)
	at := v.Start.UnixNano()
	counts := j.a.counts(at)
	if counts {
		j.a.total.Requests++
		j.a.tally(r, s, at)
	}
	err := j.limits(v)
	if v.Robots && j.isForRobots(v.Target) {
		if counts {
			r.sums.count("fetches", 1)
		}
		return err
	}
	if v.Robots {
		err = contradiction("the request is for a page, and not for a robots.txt")
	}
	if reason := v.Decision; reason != nil && !v.Robots && isFree(v.Target, reason.Reason) {
		return err
	}
	judged := j.page(v)
	if errors.Is(judged, errUnknown) {
		if counts {
			j.a.unaudited(r, s, at)
		}
		return err
	}
	j.a.audited(s)
	if err != nil {
		return err
	}
	return judged
}

// isFree reports whether a decision says rightly that no robots.txt governs a
// URL.
func isFree(target, reason string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	governed := u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ftp"
	return reason == "not-applicable" && !governed || reason == "robots-txt" && isRobots(target)
}

// page judges the URL of a page by the robots.txt in force.
func (j *recordReader) page(v *recordLine) error {
	d := v.Decision
	err := error(nil)
	switch {
	case d == nil:
		d = &recordDecision{Decided: v.Start, Allowed: true, RobotsURL: robotsURL(v.Target)}
	default:
		if err = j.grounds(v.Target, d); err != nil {
			// The page is judged as if it had no decision.
			d = &recordDecision{Decided: d.Decided, Allowed: true, RobotsURL: robotsURL(v.Target)}
		} else if d.RobotsURL == "" && j.a.counts(v.Start.UnixNano()) {
			j.sums.count("overridden", 1)
		}
	}
	in, err2 := j.stateFor(v, d)
	if err == nil {
		err = err2
	}
	if err2 != nil || in == nil {
		return err
	}
	verdict, ok := j.verdict(*in, v.Target)
	switch {
	case !ok && j.partial:
		return errUnknown
	case !ok && err == nil:
		return errFetch
	case !ok:
		return err
	case in.SHA256 == "" && j.robot.AllowAfter30Days && in.unreachableFor30Days(d):
		verdict.Allowed = true
	}
	violation := Violation{Time: v.Start, URL: v.Target}
	switch {
	case !verdict.Allowed:
		violation.Kind, violation.Line, violation.Rule = "disallowed", verdict.Line, ruleOf(verdict)
		j.report(violation)
	case v.Decision == nil || err != nil:
	case !d.Allowed:
		violation.Kind, violation.Line, violation.Rule = "disallowed", d.Line, d.Rule
		j.report(violation)
	case d.SHA256 == in.SHA256 && !d.follows(verdict):
		return errDecision
	case d.RobotsURL != "" && j.origins[d.RobotsURL].isStale(d, *in):
		violation.Kind, violation.Previous = "stale", in.Fetched
		violation.Gap, violation.Want = d.Decided.Sub(in.Fetched), in.Expires.Sub(in.Fetched)
		j.report(violation)
	}
	return err
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
