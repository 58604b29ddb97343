package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/bodycode"
	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A history contains the versions of robots.txt of each host, with the times
// from which they were in force. The zero value is empty.
type history struct {
	all     *timeline            // for each host that has no timeline of its own
	origins map[string]*timeline // by origin, such as "https://example.com"
	hosts   map[string]*timeline // by host, whatever the scheme
	recent  int                  // how many versions each timeline keeps; 0 means all
}

// onlyHost returns the host to assume for a log that does not name hosts: the
// single host of the history, or "" if the history has none or several.
func (h *history) onlyHost() string {
	if len(h.hosts) != 1 {
		return ""
	}
	var only string
	for host := range h.hosts {
		only = host
	}
	return only
}

// isFailure reports whether a status means that robots.txt is unreachable, so
// that an older copy may still be used (RFC 9309 §2.3.1.4). nginx logs 444 and
// 499 for requests without a response.
func isFailure(status int) bool {
	return status/100 == 5 || httpstatus.IsThrottled(status) || status == 444 || status == 499
}

// at returns the value of a map at a key. If there is none, at adds a new one.
func at[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// newest returns the last n elements of a list, or all if it has fewer.
func newest[T any](list []T, n int) []T { return list[max(len(list)-n, 0):] }

func (h *history) add(scheme, host string, from int64, c *capture) {
	if c.status == 304 || isFailure(c.status) {
		return
	}
	f := newFile(c)
	if host == "" {
		h.all = cmp.Or(h.all, new(timeline))
		h.all.add(from, f, h.recent)
		return
	}
	if h.hosts == nil {
		h.origins, h.hosts = make(map[string]*timeline), make(map[string]*timeline)
	}
	if scheme != "" {
		at(h.origins, scheme+"://"+host).add(from, f, h.recent)
	}
	// If http redirects to https, only the file of https applies to the host.
	isSameHost := scheme != "" && strings.HasSuffix(f.to, "://"+host)
	if !isSameHost {
		at(h.hosts, strings.Clone(host)).add(from, f, h.recent)
	}
}

// at returns the file in force at the time t, or nil if no file is known.
func (h *history) at(scheme, host string, t int64) *file {
	for range 6 { // at most five redirects
		f := h.timeline(scheme, host).at(t)
		if f == nil || f.to == "" {
			return f
		}
		scheme, host = splitOrigin(f.to)
	}
	return nil
}

// appendSince appends the files in force from a time on until the time of e. A
// file that is not known is nil.
func (h *history) appendSince(files []*file, e *event, from int64) []*file {
	l := h.timeline(e.scheme, e.host)
	if l == nil {
		return files
	}
	for _, v := range l.versions[max(l.until(from)-1, 0):l.until(e.at)] {
		files = append(files, h.at(e.scheme, e.host, max(v.from, from)))
	}
	return files
}

// timeline returns the timeline of a host, or nil if it has none. Most logs do
// not contain the scheme, which is then "".
func (h *history) timeline(scheme, host string) *timeline {
	if scheme != "" {
		if l := h.origins[scheme+"://"+host]; l != nil {
			return l
		}
		// If there is a file for another scheme of this host, h.hosts may
		// contain that file, so it is not used.
		if h.origins["http://"+host] != nil || h.origins["https://"+host] != nil {
			return h.all
		}
	}
	return cmp.Or(h.hosts[host], h.all)
}

// A timeline contains the versions of one robots.txt in the order of time.
type timeline struct{ versions []version }

type version struct {
	from int64
	file *file
}

// until returns the number of versions that came into force at or before t.
func (l *timeline) until(t int64) int {
	n := len(l.versions)
	if n > 0 && l.versions[n-1].from <= t { // the most frequent case
		return n
	}
	i, _ := slices.BinarySearchFunc(l.versions, t, func(v version, t int64) int {
		return cmp.Or(cmp.Compare(v.from, t), -1)
	})
	return i
}

func (l *timeline) add(from int64, f *file, recent int) {
	i := l.until(from)
	if i > 0 && l.versions[i-1].file.same(f) {
		return
	}
	l.versions = slices.Insert(l.versions, i, version{from, f})
	if recent > 0 && len(l.versions) > recent {
		l.versions = slices.Delete(l.versions, 0, len(l.versions)-recent)
	}
}

func (l *timeline) at(t int64) *file {
	if l == nil {
		return nil
	}
	n := l.until(t)
	if n == 0 {
		return nil
	}
	return l.versions[n-1].file
}

// A file is the interpreted response to a request for robots.txt: a robots.txt,
// a status, or a redirect.
type file struct {
	status int
	to     string // the origin to whose robots.txt a redirect leads
	text   []byte
	parsed *robotstxt.File   // the parsed form of text; nil until a robot needs it
	groups map[string]bool   // the results of hasGroup, by the name of the robot
	rules  map[string]*rules // by the name of the group; see rulesFor
}

type rules struct {
	*robotstxt.Rules
	delay time.Duration // Crawl-delay
	line  int           // the line number of the Crawl-delay
	field string        // the text of that line
}

// noRules are the rules of a robots.txt that does not exist or is not known.
var noRules = new(rules)

func newFile(c *capture) *file {
	f := &file{status: c.status}
	switch c.status / 100 {
	case 2:
		f.text = c.body[:min(len(c.body), robotstxt.MaxSize+1)]
	case 3:
		f.to = c.to
		if f.to == "" { // the redirect has no valid target
			f.status = 404
		}
	}
	return f
}

func (f *file) same(g *file) bool {
	return f.status/100 == g.status/100 && f.to == g.to && string(f.text) == string(g.text)
}

// rulesFor returns the rules for a robot. They are empty if the status is not
// 2xx. All robots that no group names share the rules of "*".
func (f *file) rulesFor(p product) *rules {
	if f.status/100 != 2 {
		return noRules
	}
	if f.parsed == nil {
		f.parsed = robotstxt.Parse(bodycode.Text(f.text, robotstxt.MaxSize))
		f.groups = make(map[string]bool)
		f.rules = make(map[string]*rules)
	}
	group := "*"
	if p.skipsAll {
		group = ""
	}
	if i := slices.IndexFunc(p.groups, f.hasGroup); i >= 0 {
		group = strings.ToLower(p.groups[i])
	}
	if f.rules[group] == nil {
		f.rules[group] = newRules(f.parsed, group)
	}
	return f.rules[group]
}

// hasGroup reports whether a group names the robot, other than by "*". The
// results are cached, because each one requires that the rules for the robot
// are compiled.
func (f *file) hasGroup(robot string) bool {
	has, isCached := f.groups[robot]
	if !isCached {
		isName := func(a robotstxt.UserAgent) bool { return !strings.HasPrefix(a.Value, "*") }
		has = slices.ContainsFunc(f.parsed.Rules(robot).Match("/").Group, isName)
		f.groups[robot] = has
	}
	return has
}

// newRules returns the rules of the groups that apply to a name, or no rules if
// the name is "".
func newRules(f *robotstxt.File, name string) *rules {
	if name == "" {
		f = robotstxt.Parse(nil)
	}
	r := &rules{Rules: f.Rules(name)}
	r.delay, _ = r.CrawlDelay()
	for g := range f.GroupsFor(name) {
		for _, field := range g.Fields {
			if !strings.EqualFold(field.Name, "crawl-delay") {
				continue
			}
			// Of several lines, the one with the value of r.delay is reported.
			alone := robotstxt.Parse([]byte("user-agent: *\ncrawl-delay: " + field.Value))
			d, ok := alone.Rules("*").CrawlDelay()
			if ok && d == r.delay && r.line == 0 {
				r.line = field.Line
				r.field = field.Name + ": " + field.Value
			}
		}
	}
	return r
}

// judge judges a URL by the rules for a robot. It also judges other paths that
// servers may treat as the same, such as //private/ and /x/../private/.
func (f *file) judge(r *rules, url string) robotstxt.Match {
	if f.status/100 != 2 {
		return robotstxt.Match{Allowed: true}
	}
	m, _ := r.MatchResolved(url)
	return m
}

// ruleText returns the text of the rule that determined m, or "" if there is no
// such rule. The text has the form "Disallow: /a".
func ruleText(m robotstxt.Match) string {
	if m.Kind == robotstxt.NoRule {
		return ""
	}
	return m.Kind.String() + ": " + m.Pattern
}
