package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A History knows which robots.txt was in force on which host, and from when
// on. The zero value knows nothing. It is not safe for concurrent use.
type History struct {
	all     *timeline            // for every host that has none of its own
	origins map[string]*timeline // by scheme and host, as in "https://example.com"
	hosts   map[string]*timeline // by host, whatever the scheme
	recent  int                  // versions to keep of each timeline; 0: all
}

// Add adds a robots.txt that is in force from the time from on, or always if
// that is zero. host is "example.com" or "https://example.com", because http
// and https each have a file. "" stands for every host. status is that of the
// answer: 2xx is a file, 304 means the file before, 4xx allows everything and
// 5xx nothing. For other statuses nothing is known.
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

// only returns the host that a log without hosts is about.
func (h *History) only() (host string, ok bool) {
	if len(h.hosts) > 1 {
		return "", false
	}
	for host = range h.hosts {
	}
	return host, true
}

func (h *History) add(scheme, host string, from int64, c *capture) {
	if c.status == 304 {
		return // the file in force stays
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
			return // http redirects to https, whose file counts for the host
		}
	}
	if h.hosts[host] == nil {
		h.hosts[host] = new(timeline)
	}
	h.hosts[host].add(from, f, h.recent)
}

// at returns the file that is in force at a time, or nil if none is known.
func (h *History) at(scheme, host string, t int64) *file {
	for range 6 { // five redirects
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
		// A file in hosts may be that of the other scheme: use it only if it
		// was added for the host alone.
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
		i++ // of two at the same time, the one added last comes second
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

// A capture is an answer to a request for robots.txt.
type capture struct {
	status int
	body   []byte
	to     string // where a redirect leads
}

// A file is a robots.txt in force, or a status or redirect in its place.
type file struct {
	status int
	to     string // the origin to whose robots.txt a redirect leads
	text   []byte
	parsed *robotstxt.File // kept once a second robot needs it
	rules  map[string]*rules
}

// rules are what one robot has to obey.
type rules struct {
	*robotstxt.Rules
	delay time.Duration // Crawl-delay
	line  int           // of the Crawl-delay
	field string        // the line of the Crawl-delay, as written
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

// rulesFor returns the rules for a robot. They count only if the status is 2xx.
func (f *file) rulesFor(robot string) *rules {
	key := strings.ToLower(robot)
	if r := f.rules[key]; r != nil {
		return r
	}
	parsed := f.parsed
	if parsed == nil {
		parsed = robotstxt.Parse(f.text)
		if len(f.rules) > 0 {
			f.parsed = parsed
		}
	}
	// Robots that no group names share the rules for all.
	named := false
	for g := range parsed.GroupsFor(robot) {
		for _, a := range g.UserAgents {
			named = named || !strings.HasPrefix(a.Value, "*")
		}
	}
	if !named && key != "*" {
		return f.keep(key, f.rulesFor("*"))
	}
	r := &rules{Rules: parsed.Rules(robot)}
	r.delay, _ = r.CrawlDelay()
	for g := range parsed.GroupsFor(robot) {
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
	return f.keep(key, r)
}

func (f *file) keep(robot string, r *rules) *rules {
	if f.rules == nil {
		f.rules = make(map[string]*rules)
	}
	f.rules[robot] = r
	return r
}

// verdict is what a file says about a URL.
type verdict struct {
	allowed bool
	line    int
	rule    string
}

func (f *file) judge(r *rules, url string) verdict {
	switch f.status / 100 {
	case 2:
	case 5:
		return verdict{}
	default:
		return verdict{allowed: true}
	}
	m := r.Match(url)
	if m.Allowed {
		return verdict{allowed: true}
	}
	if m.Kind == robotstxt.NoRule {
		return verdict{} // too much work, because the file was made for that
	}
	return verdict{line: m.Line, rule: ruleOf(m)}
}

// ruleOf returns the rule that decided, such as "Disallow: /a", or "" if there
// is none.
func ruleOf(m robotstxt.Match) string {
	if m.Kind == robotstxt.NoRule {
		return ""
	}
	return m.Kind.String() + ": " + m.Pattern
}
