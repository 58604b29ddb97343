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

// A history knows which robots.txt was in force on each host at each time. The
// zero value knows nothing.
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
// an older copy stays in use (RFC 9309 §2.3.1.4). nginx logs 444 and 499 for
// requests without a response.
func isFailure(status int) bool {
	return status/100 == 5 || httpstatus.IsThrottled(status) || status == 444 || status == 499
}

// at returns what a map has at a key, which is new if there was nothing.
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
	if scheme == "" || f.to == "" || !strings.HasSuffix(f.to, "://"+host) { // else http redirects to https, whose file counts for the host
		at(h.hosts, strings.Clone(host)).add(from, f, h.recent)
	}
}

// at returns the file in force at the time t, or nil if no file is known.
func (h *history) at(scheme, host string, t int64) *file {
	for range 6 { // at most five redirects
		f := h.line(scheme, host).at(t)
		if f == nil || f.to == "" {
			return f
		}
		scheme, host = originOf(f.to)
	}
	return nil
}

// appendSince appends the files in force from a time on until the time of e. A
// file that is not known is nil.
func (h *history) appendSince(files []*file, e *event, from int64) []*file {
	line := h.line(e.scheme, e.host)
	if line == nil {
		return files
	}
	for _, v := range line.versions[max(line.until(from)-1, 0):line.until(e.at)] {
		files = append(files, h.at(e.scheme, e.host, max(v.from, from)))
	}
	return files
}

// line returns the timeline of a host, or nil if it has none. Most logs do not
// contain the scheme, which is then "".
func (h *history) line(scheme, host string) *timeline {
	if scheme != "" {
		if line := h.origins[scheme+"://"+host]; line != nil {
			return line
		}
		// If there is a file for another scheme of this host, h.hosts may
		// contain that file, so it is not used.
		if h.origins["http://"+host] != nil || h.origins["https://"+host] != nil {
			return h.all
		}
	}
	return cmp.Or(h.hosts[host], h.all)
}

// A timeline has the versions of one robots.txt in the order of time.
type timeline struct{ versions []version }

type version struct {
	from int64
	file *file
}

// until returns how many versions are in force from t on or earlier.
func (l *timeline) until(t int64) int {
	n := len(l.versions)
	if n > 0 && l.versions[n-1].from <= t { // mostly so
		return n
	}
	i, _ := slices.BinarySearchFunc(l.versions, t, func(v version, t int64) int { return cmp.Or(cmp.Compare(v.from, t), -1) })
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

// A file is the meaning of an answer for robots.txt: a robots.txt, a status, or
// a redirect.
type file struct {
	status int
	to     string // the origin to whose robots.txt a redirect leads
	text   []byte
	parsed *robotstxt.File   // the parsed form of text; nil until a robot needs it
	named  map[string]bool   // whether a group other than "*" names a robot, by its name
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
		if f.to = c.to; f.to == "" {
			f.status = 404 // a redirect that leads nowhere
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
		f.named = make(map[string]bool)
		f.rules = make(map[string]*rules)
	}
	group := "*"
	if p.named {
		group = ""
	}
	if i := slices.IndexFunc(p.groups, f.names); i >= 0 {
		group = strings.ToLower(p.groups[i])
	}
	if f.rules[group] == nil {
		f.rules[group] = newRules(f.parsed, group)
	}
	return f.rules[group]
}

// names reports whether a group names the robot, other than by "*". A robot
// with many addresses asks as often, and the rules are compiled only once.
func (f *file) names(robot string) bool {
	named, known := f.named[robot]
	if !known {
		isName := func(a robotstxt.UserAgent) bool { return !strings.HasPrefix(a.Value, "*") }
		named = slices.ContainsFunc(f.parsed.Rules(robot).Match("/").Group, isName)
		f.named[robot] = named
	}
	return named
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
			if !strings.EqualFold(field.Name, "crawl-delay") {
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

// judge judges a URL by the rules for a robot, also by other names that servers
// may take for the same path, such as //private/ and /x/../private/.
func (f *file) judge(r *rules, url string) robotstxt.Match {
	if f.status/100 != 2 {
		return robotstxt.Match{Allowed: true}
	}
	m, _ := r.MatchResolved(url)
	return m
}

// ruleText returns the rule that decided, such as "Disallow: /a", or "" if
// none did.
func ruleText(m robotstxt.Match) string {
	if m.Kind == robotstxt.NoRule {
		return ""
	}
	return m.Kind.String() + ": " + m.Pattern
}
