package audit

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/bodycode"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// recordOrigins contains the states of the robots.txt of each origin, according
// to the lines read so far.
type recordOrigins struct {
	robot          recordLine                  // the latest robot line
	files          map[string]*robotstxt.Rules // by the hash of the file
	origins        map[string]*recordOrigin    // by the URL of robots.txt
	hops           map[[sha256.Size]byte]bool  // where redirects of robots.txt lead; see hopKey
	hopsIncomplete bool                        // hops was full, or a URL was not known
	partial        bool                        // lines are missing, on which other lines may be based
}

func newRecordOrigins() recordOrigins {
	return recordOrigins{
		files:   make(map[string]*robotstxt.Rules),
		origins: make(map[string]*recordOrigin),
		hops:    make(map[[sha256.Size]byte]bool),
	}
}

func (k *recordOrigins) setRobot(v *recordLine) {
	if !slices.Equal(k.robot.Tokens, v.Tokens) {
		clear(k.files) // their rules are those for another robot
	}
	k.robot = *v
}

func (k *recordOrigins) addFile(sha256 string, text []byte) {
	k.files[sha256] = robotstxt.Parse(bodycode.Text(text, robotstxt.MaxSize)).Rules(k.robot.Tokens...)
}

// A recordOrigin contains the states of the robots.txt of one origin.
type recordOrigin struct {
	states  []state       // the latest maxStates ones, the oldest first
	fetches []*recordLine // the fetches on which no robots line is based yet
}

// A state describes an origin's robots.txt from the time of a robots line on.
type state struct {
	*recordLine
	since    time.Time // when this series of failures began, if there is a Cause
	answered time.Time // the time of the last good fetch before these failures; zero if not known
}

const (
	maxStates = 8
	maxHops   = 100_000

	// settlingTime is how long a new robots.txt may be in the record before the
	// crawler must obey it. The crawler records a file before it uses it.
	settlingTime = 5 * time.Second

	// maxFetchToLine limits the time between a fetch and its robots line.
	maxFetchToLine = time.Minute
)

var (
	errDecision = &recordFault{contradicts, "the decision does not follow from the robots.txt on which it is based"}
	errFetch    = &recordFault{contradicts, "the decision is based on a robots.txt that the record does not contain"}

	// errUnknown means that lines are missing on which a decision may be based.
	errUnknown = errors.New("the decision cannot be judged")
)

// addFetch adds a response to a request for a robots.txt.
func (k *recordOrigins) addFetch(v *recordLine) {
	o := at(k.origins, v.URL)
	o.fetches = newest(append(o.fetches, v), 2*maxStates)
	if v.isRedirect() {
		k.addHop(v.redirectTarget())
	}
}

// addHop adds the URL to which a redirect of a robots.txt leads, because a
// request for that URL is not one for a page. If to is nil, because the record
// does not contain the URL, any later request may be for that URL.
func (k *recordOrigins) addHop(to *url.URL) {
	if to == nil {
		k.hopsIncomplete = true
		return
	}
	k.hops[hopKey(to)] = true
	if len(k.hops) > maxHops {
		clear(k.hops)
		k.hopsIncomplete = true
	}
}

func (v *recordLine) isRedirect() bool { return v.Status/100 == 3 && v.Location != "" }

// redirectTarget returns the URL to which a redirect leads. It returns nil if
// the response is not a redirect, or if the line contains only a part of that
// URL or an invalid one.
func (v *recordLine) redirectTarget() *url.URL {
	isShortened := len(v.Location) >= maxText
	if !v.isRedirect() || isShortened {
		return nil
	}
	base, err := url.Parse(v.Target)
	if err != nil {
		return nil
	}
	to, err := base.Parse(v.Location)
	if err != nil {
		return nil
	}
	return to
}

// isGood reports whether a fetch received a 2xx and read its whole body.
func (v *recordLine) isGood() bool { return v.Status/100 == 2 && v.Error == "" }

// hopKey returns the same key for all spellings of a URL. The key is a hash,
// because a path may be long.
func hopKey(u *url.URL) [sha256.Size]byte {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	return sha256.Sum256([]byte(host + "/" + strings.TrimPrefix(u.Path, "/")))
}

// isForRobots reports whether a request with this URL can be one for a
// robots.txt.
func (k *recordOrigins) isForRobots(target string) bool {
	u, err := url.Parse(target)
	isUnknown := k.hopsIncomplete || k.partial || err != nil
	return isUnknown || isRobots(target) || k.hops[hopKey(u)]
}

// robots adds the state that a robots line describes. It returns an error if
// the state does not follow from a fetch.
func (k *recordOrigins) robots(v *recordLine) error {
	o := at(k.origins, v.URL)
	s := state{recordLine: v, since: v.Time}
	if n := len(o.states); n > 0 && v.Cause != "" {
		last := o.states[n-1]
		if last.Cause == "" {
			s.answered = last.Time
		} else {
			s.since = last.since
			s.answered = last.answered
		}
	}
	err := k.checkBasis(v, o)
	o.states = newest(append(o.states, s), maxStates)
	if k.partial {
		return nil
	}
	return err
}

// checkBasis returns an error if a robots line is not based on a fetch that the
// record contains. The fetch, and the redirects that led to it, are removed
// from o.fetches.
func (k *recordOrigins) checkBasis(v *recordLine, o *recordOrigin) error {
	if v.Expires.Sub(v.Fetched) > fresh {
		return contradiction("the robots.txt expires more than 24 hours after it was fetched")
	}
	if v.From == "store" {
		isOld := !v.Fetched.IsZero() && v.Time.Sub(v.Fetched) > fresh+maxFetchToLine
		isFailedFetch := func(s state) bool { return s.Cause != "" && s.From != "store" }
		if isOld && !slices.ContainsFunc(o.states, isFailedFetch) {
			return contradiction("the robots.txt from the store is more than 24 hours old, and no fetch has failed since")
		}
		return nil
	}
	for i, fetch := range slices.Backward(o.fetches) {
		if !k.isBasis(fetch, v) {
			continue
		}
		first := i
		for first > 0 && o.fetches[first-1].Status/100 == 3 { // the redirects that led there
			first--
		}
		o.fetches = slices.Delete(o.fetches, first, i+1)
		return nil
	}
	return contradiction("no fetch in the record has this result")
}

// isBasis reports whether a robots line v can be based on a fetch.
func (k *recordOrigins) isBasis(fetch, v *recordLine) bool {
	if v.Cause != "" {
		// The response of bot protection may have been a complete 2xx.
		return !fetch.isGood() || !fetch.hasRules
	}
	isSoon := fetch.Time.Sub(v.Fetched).Abs() <= maxFetchToLine && fetch.Time.Sub(v.Time).Abs() <= maxFetchToLine
	if v.Renewed {
		return fetch.Status == 304 && fetch.Conditional && isSoon
	}
	if fetch.Status == v.Status && (fetch.isGood() || fetch.Status/100 != 2) {
		return isSoon && fetch.SHA256 == v.SHA256
	}
	if fetch.Status/100 != 3 || v.Redirects == 0 {
		return false
	}
	// The fetch was redirected to the robots.txt of another origin, which
	// therefore applies to this origin too. That file may have been fetched
	// before.
	to := fetch.redirectTarget()
	if to == nil || to.EscapedPath() != "/robots.txt" || to.RawQuery != "" {
		return true
	}
	other := k.origins[robotsURL(to.String())]
	if other == nil || len(other.states) == 0 {
		return true
	}
	return slices.ContainsFunc(other.states, func(s state) bool {
		return s.SHA256 == v.SHA256 && s.Fetched.Equal(v.Fetched)
	})
}

// inForce returns the state in force when a decision was made. In the first
// seconds after a change, the decision may still be based on the previous
// state, which inForce then returns. If the decision is based on a file with a
// later fetch time than the decision, the wall clock was set back in between,
// and inForce returns the state with that file.
func (o *recordOrigin) inForce(d *recordDecision) state {
	in := o.states[0]
	for _, s := range o.states {
		isSettled := !s.Time.Add(settlingTime).After(d.Decided)
		isNamed := s.Fetched.Equal(d.Fetched)
		isSoon := s.Time.Before(d.Decided.Add(settlingTime))
		isSetBack := s.Fetched.After(d.Decided)
		if isSettled || isNamed && (isSoon || isSetBack) {
			in = s
		}
	}
	return in
}

// isStale reports whether the file on which a decision is based was too old. A
// file that was not in force was too old. A file in force was too old if its
// lifetime had ended more than five seconds before the decision. There are two
// exceptions for the file in force: a later fetch had failed before the
// decision, or the decision is marked stale and was made at most 24 hours after
// the file was fetched.
func (o *recordOrigin) isStale(d *recordDecision, in state) bool {
	if d.SHA256 != in.SHA256 {
		return true
	}
	hasExpired := !in.Expires.IsZero() && d.Decided.After(in.Expires.Add(settlingTime))
	isMarked := d.Stale && d.Decided.Sub(in.Fetched) <= fresh
	if !hasExpired || isMarked {
		return false
	}
	isLaterFailure := func(s state) bool {
		return s.Cause != "" && !s.Time.After(d.Decided) && !s.Time.Before(in.Time)
	}
	return !slices.ContainsFunc(o.states, isLaterFailure)
}

// unreachableFor30Days reports whether robots.txt was unreachable for 30 days
// up to the last fetch. The failures may have begun before the record, in an
// earlier process with the same Store. Therefore, if the decision d contains an
// earlier beginning of the failures, that beginning applies, unless the record
// contains a good response after it.
func (s state) unreachableFor30Days(d *recordDecision) bool {
	since := s.since
	claimed := d.FailedSince
	isEarlier := !claimed.IsZero() && claimed.Before(since)
	if isEarlier && claimed.Add(settlingTime).After(s.answered) {
		since = claimed
	}
	return s.Cause != "" && s.Time.Sub(since) >= 30*24*time.Hour
}

// verdict judges a URL by a state. It judges all forms of the path, as the
// crawler does. ok is false if the record does not contain the state's file.
func (k *recordOrigins) verdict(s state, target string) (m robotstxt.Match, ok bool) {
	if s.SHA256 == "" {
		isForbidden := s.Status == 401 || s.Status == 403
		disallowsAll := s.Cause != "" || isForbidden && k.robot.DisallowForbidden
		return robotstxt.Match{Allowed: !disallowsAll}, true
	}
	rules := k.files[s.SHA256]
	if rules == nil {
		return m, false
	}
	m, _ = rules.MatchResolved(target)
	return m, true
}

// robotsURL returns the URL of the robots.txt that applies to a URL, in the
// form used in records. A host that is not ASCII is unchanged.
func robotsURL(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok {
		return ""
	}
	host, _ := cutHost(rest)
	u, err := url.Parse(scheme + "://" + host)
	if err != nil {
		return scheme + "://" + host + "/robots.txt"
	}
	scheme, host = strings.ToLower(u.Scheme), hostKey(u)
	if strings.Contains(host, ":") || strings.HasPrefix(u.Host, "[") {
		host = "[" + host + "]"
	}
	defaultPort := map[string]string{"http": "80", "https": "443", "ftp": "21"}[scheme]
	if port := strings.TrimLeft(u.Port(), "0"); port != "" && port != defaultPort {
		host += ":" + port
	}
	return scheme + "://" + host + "/robots.txt"
}

// hostKey returns the key that a Limiter uses for the host of a URL.
func hostKey(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return host
}

// hasOddHost reports whether a URL's host has a form that only the crawler can
// convert, such as an internationalized name.
func hasOddHost(u *url.URL) bool {
	host := strings.TrimSuffix(u.Hostname(), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Is4In6()
	}
	lastLabel := host[strings.LastIndexByte(host, '.')+1:]
	if lastLabel == "" || !isPlain(host) {
		return true
	}
	return '0' <= lastLabel[0] && lastLabel[0] <= '9' // such as 0x7f.1
}

// checkGrounds returns an error if a decision about target is based on the
// robots.txt of another origin, or on a version of robots.txt that the record
// does not contain. The error is errUnknown if the record may have lost that
// version. checkGrounds returns nil if the decision does not contain when
// robots.txt was fetched, or if the record contains no robots.txt of the
// origin.
func (k *recordOrigins) checkGrounds(target string, d *recordDecision) error {
	u, err := url.Parse(target)
	isOdd := err != nil || hasOddHost(u)
	if d.RobotsURL == "" {
		if !k.hasOverride(target, d.SHA256, isOdd) {
			return contradiction("the decision contains no robots_url, and the robot line has no such override for the origin of the URL")
		}
		return nil
	}
	if d.RobotsURL != robotsURL(target) && !isOdd {
		return contradiction("the decision is based on the robots.txt of another origin, %.200q", d.RobotsURL)
	}
	o := k.origins[d.RobotsURL]
	if d.Fetched.IsZero() || o == nil || len(o.states) == 0 {
		return nil
	}
	if slices.ContainsFunc(o.states, d.followsFrom) {
		return nil
	}
	if slices.ContainsFunc(o.states, func(s state) bool { return s.Fetched.Equal(d.Fetched) }) {
		return contradiction("the decision and the robots line disagree about the robots.txt")
	}
	if k.partial || len(o.states) == maxStates {
		return errUnknown
	}
	return errFetch
}

// followsFrom reports whether a decision contains the file and status of a
// state. While fetches fail, the state has the status of the failure, so the
// status is not compared.
func (d *recordDecision) followsFrom(s state) bool {
	isSameFile := s.SHA256 == d.SHA256 && s.Fetched.Equal(d.Fetched) && s.Expires.Equal(d.Expires)
	return isSameFile && (s.Status == d.Status || s.Cause != "")
}

// hasOverride reports whether the robot line has an override with this hash for
// the origin of target. The origins are not compared if only the crawler can
// convert the host of one of them. anyOrigin reports whether this is true for
// the host of target.
func (k *recordOrigins) hasOverride(target, sha256 string, anyOrigin bool) bool {
	if sha256 == "" {
		return false
	}
	for origin, hash := range k.robot.Override {
		if hash != sha256 {
			continue
		}
		if anyOrigin || !isPlain(origin) || robotsURL(origin) == robotsURL(target) {
			return true
		}
	}
	return false
}
