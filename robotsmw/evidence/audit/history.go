package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A History knows which robots.txt was in force on each host at each time. The
// zero value knows nothing. It is not safe for concurrent use.
type History struct {
	all     *timeline            // for each host that has no timeline of its own
	origins map[string]*timeline // by origin, such as "https://example.com"
	hosts   map[string]*timeline // by host, whatever the scheme
	recent  int                  // how many versions each timeline keeps; 0 means all
}

// Add adds a robots.txt that is in force from the given time on, or always if
// that time is zero. host is "example.com", or "https://example.com" if http
// and https have different files. If host is "", the file is for every host.
// status is the status of the answer. With a 2xx, body is the file. A 304, a
// 429 and a 5xx change nothing, and any other status allows everything.
func (h *History) Add(host string, from time.Time, status int, body []byte) {
	at := int64(never)
	if !from.IsZero() {
		at = from.UnixNano()
	}
	scheme, name := originOf(host)
	h.add(scheme, name, at, &capture{status: status, body: body})
}

// Hosts returns the number of hosts for which there is a file. A file for every
// host does not count.
func (h *History) Hosts() int { return len(h.hosts) }

// The method "only" returns the host for a log that names no hosts. This is the
// only host of the History, or "" if the History has none. If the History has
// several hosts, the method returns false.
func (h *History) only() (host string, ok bool) {
	if len(h.hosts) > 1 {
		return "", false
	}
	for host = range h.hosts {
	}
	return host, true
}

// isMissing reports whether a status says that there is no robots.txt, so that
// nothing is disallowed (RFC 9309 §2.3.1.3).
func isMissing(status int) bool { return status/100 == 4 && status != 429 }

// isFailure reports whether a status says that robots.txt cannot be had, so
// that an older copy stays in use (RFC 9309 §2.3.1.4).
func isFailure(status int) bool { return status/100 == 5 || status == 429 }

func (h *History) add(scheme, host string, from int64, c *capture) {
	if c.status == 304 || isFailure(c.status) {
		return
	}
	f := newFile(c)
	if host == "" {
		if h.all == nil {
			h.all = new(timeline)
		}
		h.all.add(from, f, h.recent)
		return
	}
	if h.hosts == nil {
		h.origins, h.hosts = make(map[string]*timeline), make(map[string]*timeline)
	}
	if scheme != "" {
		origin := scheme + "://" + host
		if h.origins[origin] == nil {
			h.origins[origin] = new(timeline)
		}
		h.origins[origin].add(from, f, h.recent)
		if f.to != "" && strings.HasSuffix(f.to, "://"+host) {
			return // http redirects to https, so only the file of https counts for the host
		}
	}
	if h.hosts[host] == nil {
		h.hosts[host] = new(timeline)
	}
	h.hosts[host].add(from, f, h.recent)
}

// The method "at" returns the file in force at the time t, or nil if no file is
// known.
func (h *History) at(scheme, host string, t int64) *file {
	for range 6 { // at most five redirects
		f := h.line(scheme, host).at(t)
		if f == nil || f.to == "" {
			return f
		}
		scheme, host = originOf(f.to)
	}
	return nil
}

func (h *History) line(scheme, host string) *timeline {
	if h == nil {
		return nil
	}
	if scheme != "" {
		if line := h.origins[scheme+"://"+host]; line != nil {
			return line
		}
		// If there is a file for another scheme of this host, h.hosts may have
		// that file. So h.hosts is not used here.
		if h.origins["http://"+host] != nil || h.origins["https://"+host] != nil {
			return h.all
		}
	}
	if line := h.hosts[host]; line != nil {
		return line
	}
	return h.all
}

// A timeline has the versions of one robots.txt in the order of time.
type timeline struct{ versions []version }

type version struct {
	from int64
	file *file
}

func (l *timeline) add(from int64, f *file, recent int) {
	i, found := slices.BinarySearchFunc(l.versions, from, func(v version, t int64) int { return cmp.Compare(v.from, t) })
	if found {
		i++ // versions with the same time keep the order in which they were added
		for i < len(l.versions) && l.versions[i].from == from {
			i++
		}
	}
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
	i, _ := slices.BinarySearchFunc(l.versions, t, func(v version, t int64) int {
		if v.from <= t {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil
	}
	return l.versions[i-1].file
}

// A file is the meaning of an answer for robots.txt: a robots.txt, a status, or
// a redirect.
type file struct {
	status int
	to     string // the origin to whose robots.txt a redirect leads
	text   []byte
	parsed *robotstxt.File   // the parsed form of text; nil until a second robot needs it
	rules  map[string]*rules // by product token, in lower case
}

type rules struct {
	*robotstxt.Rules
	delay time.Duration // Crawl-delay
	line  int           // the line number of the Crawl-delay
	field string        // the text of that line
}

func newFile(c *capture) *file {
	f := &file{status: c.status}
	switch c.status / 100 {
	case 2:
		f.text = c.body[:min(len(c.body), robotstxt.MaxSize+1)]
	case 3:
		if f.to = c.to; f.to == "" {
			f.status = 404 // a redirect that leads nowhere
		}
	}
	return f
}

func (f *file) same(g *file) bool {
	return f.status/100 == g.status/100 && f.to == g.to && string(f.text) == string(g.text)
}

// rulesFor returns the rules for a robot. They have a meaning only if the
// status is 2xx.
func (f *file) rulesFor(name string, p product) *rules {
	key := strings.ToLower(name)
	if known := f.rules[key]; known != nil {
		return known
	}
	parsed := f.parsed
	if parsed == nil {
		parsed = robotstxt.Parse(f.text)
		if len(f.rules) > 0 {
			f.parsed = parsed
		}
	}
	for _, group := range p.groups {
		if names(parsed, group) {
			return f.keep(key, newRules(parsed, group))
		}
	}
	// All robots that no group names share the same rules.
	group := "*"
	if p.named {
		group = ""
	}
	if known := f.rules[group]; known != nil {
		return known
	}
	return f.keep(group, newRules(parsed, group))
}

// names reports whether a group names the robot, other than by "*".
func names(f *robotstxt.File, robot string) bool {
	for g := range f.GroupsFor(robot) {
		for _, a := range g.UserAgents {
			if !strings.HasPrefix(a.Value, "*") {
				return true
			}
		}
	}
	return false
}

// newRules returns the rules of the groups with a name, or no rules if the name
// is "".
func newRules(f *robotstxt.File, name string) *rules {
	if name == "" {
		f = robotstxt.Parse(nil)
	}
	r := &rules{Rules: f.Rules(name)}
	r.delay, _ = r.CrawlDelay()
	for g := range f.GroupsFor(name) {
		for _, field := range g.Fields {
			if !field.Is("crawl-delay") {
				continue
			}
			one := robotstxt.Parse([]byte("user-agent: *\ncrawl-delay: " + field.Value))
			if d, ok := one.Rules("*").CrawlDelay(); ok && d == r.delay && r.line == 0 {
				r.line, r.field = field.Line, field.Name+": "+field.Value
			}
		}
	}
	return r
}

func (f *file) keep(robot string, r *rules) *rules {
	if f.rules == nil {
		f.rules = make(map[string]*rules)
	}
	f.rules[robot] = r
	return r
}

type verdict struct {
	allowed bool
	line    int
	rule    string
}

// judge judges a URL by the rules for a robot, also by other names that servers
// may take for the same path, such as //private/ and /x/../private/.
func (f *file) judge(r *rules, url string) verdict {
	if f.status/100 != 2 {
		return verdict{allowed: true}
	}
	m, _ := r.MatchResolved(url)
	if m.Allowed || m.Kind == robotstxt.NoRule { // NoRule: matching it takes too much work
		return verdict{allowed: m.Allowed}
	}
	return verdict{line: m.Line, rule: ruleOf(m)}
}

// ruleOf returns the rule that decided, such as "Disallow: /a", or "" if none
// did.
func ruleOf(m robotstxt.Match) string {
	if m.Kind == robotstxt.NoRule {
		return ""
	}
	return m.Kind.String() + ": " + m.Pattern
}
