package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A History is what robots.txt said on which host, and from when on. The zero
// value knows nothing. It is not safe for concurrent use.
type History struct {
	all     *timeline            // of whatever host
	origins map[string]*timeline // by scheme and host, as in "https://example.com"
	hosts   map[string]*timeline // by host, whatever the scheme
	recent  int                  // versions to keep of each timeline; 0: all
}

// Add says that a robots.txt is in force from some time on, the zero time for
// always. Host is "example.com" or, as http and https have a file each,
// "https://example.com"; "" is for whatever host. Status is that of the answer:
// 2xx is a file, 304 the one before, 4xx allows everything and 5xx nothing. For
// others nothing is known.
func (h *History) Add(host string, from time.Time, status int, body []byte) {
	at := int64(never)
	if !from.IsZero() {
		at = from.UnixNano()
	}
	scheme, name := originOf(host)
	h.add(scheme, name, at, &capture{status: status, body: body})
}

// Hosts returns for how many hosts there is a file; one that is for whatever
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
		return // what is in force goes on
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
			return // http leads to https, whose file counts for the host
		}
	}
	if h.hosts[host] == nil {
		h.hosts[host] = new(timeline)
	}
	h.hosts[host].add(from, f, h.recent)
}

// at returns the file that is in force at a time, or nil where none is known.
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
		// A file that was added for the host alone.
		if h.origins["http://"+host] != nil || h.origins["https://"+host] != nil {
			return h.all
		}
	}
	if line := h.hosts[host]; line != nil {
		return line
	}
	return h.all
}

// A timeline has the versions of one robots.txt, in the order of time.
type timeline struct{ versions []version }

type version struct {
	from int64
	file *file
}

func (l *timeline) add(from int64, f *file, recent int) {
	i, found := slices.BinarySearchFunc(l.versions, from, func(v version, t int64) int { return cmp.Compare(v.from, t) })
	if found {
		i++ // of two at one time the later one is the second
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

// A capture is an answer for a robots.txt.
type capture struct {
	status int
	body   []byte
	to     string // where a redirect leads
}

// A file is a robots.txt in force, or what stands for one.
type file struct {
	status int
	to     string // origin whose robots.txt a redirect leads to
	text   []byte
	parsed *robotstxt.File // kept from the second robot on
	rules  map[string]*rules
}

// rules are what one robot has to obey.
type rules struct {
	*robotstxt.Rules
	delay time.Duration // Crawl-delay
	line  int           // of the Crawl-delay
	field string        // it, as written
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

// rulesFor returns the rules for a robot. A 4xx allows everything; what a 5xx
// says is not asked of them.
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
	// Robots that nobody names share what is said to all.
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

// verdict is what a file says of a URL.
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
		return verdict{} // too much work: the file was made for that
	}
	return verdict{line: m.Line, rule: ruleOf(m)}
}

// ruleOf returns the rule that decided, as "Disallow: /a"; "": none did.
func ruleOf(m robotstxt.Match) string {
	if m.Kind == robotstxt.NoRule {
		return ""
	}
	return m.Kind.String() + ": " + m.Pattern
}
