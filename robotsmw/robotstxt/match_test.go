package robotstxt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

func TestMatch_Reasons(t *testing.T) {
	f := parse(`user-agent: ExampleBot/1.0
user-agent: otherbot
disallow: /%7Ejoe/ # private
allow: /*.html$

user-agent: examplebot
disallow: /café*

user-agent: emptybot
`)
	ours := []UserAgent{{"ExampleBot/1.0", 1}, {"examplebot", 6}}
	for _, test := range []struct {
		token, target string
		want          Match
	}{
		{"ExampleBot", "/~joe/x", Match{false, ByRule, Disallow, "/%7Ejoe/", 3, ours}},
		// "/%7Ejoe/" is normalized to "/~joe/", which is shorter than
		// "/*.html$"
		{
			token:  "ExampleBot",
			target: "/~joe/x.html",
			want:   Match{true, ByRule, Allow, "/*.html$", 4, ours},
		},
		{"ExampleBot", "/x.html", Match{true, ByRule, Allow, "/*.html$", 4, ours}},
		{"ExampleBot", "/caf%C3%A9s", Match{false, ByRule, Disallow, "/café*", 7, ours}},
		{"ExampleBot", "/x", Match{true, NoMatch, NoRule, "", 0, ours}},
		{"ExampleBot", "/robots.txt", Match{true, IsRobotsTxt, NoRule, "", 0, ours}},
		{"emptybot", "/x", Match{true, EmptyGroup, NoRule, "", 0, []UserAgent{{"emptybot", 9}}}},
		{"nobot", "/x", Match{true, NoGroup, NoRule, "", 0, nil}},
		{"nobot", "/robots.txt", Match{true, IsRobotsTxt, NoRule, "", 0, nil}},
	} {
		got := f.Rules(test.token).Match(test.target)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("Rules(%q).Match(%q) = %+v, want %+v", test.token, test.target, got, test.want)
		}
	}
}

func TestMatch_EquivalentRules(t *testing.T) {
	for _, test := range []struct {
		robots string
		line   int
	}{
		{"user-agent: *\ndisallow: /a\ndisallow: /a\n", 2},
		{"user-agent: *\ndisallow: /a\nallow: /a\nallow: /a\n", 3},
		{"user-agent: *\ndisallow: /a\ndisallow: /a*\n", 3},
		{"user-agent: *\nallow: /ab\ndisallow: /a*\n", 2},
		{"user-agent: *\ndisallow: /a$\nallow: /a*\n", 3},
		{
			robots: "user-agent: *\n" + strings.Repeat("disallow: /a$\n", 100) + strings.Repeat("disallow: /a*b*\n", 100),
			line:   2,
		},
	} {
		target := "/ab"
		if strings.Contains(test.robots, "$") {
			target = "/a"
		}
		if m := parse(test.robots).Rules().Match(target); m.Line != test.line {
			t.Errorf("Match(%q) in %q = %+v, want line %d", target, test.robots, m, test.line)
		}
	}
}

// TestMatch_Targets checks that a target may be a path or a URL, and which part
// of it the rules match.
func TestMatch_Targets(t *testing.T) {
	rules := parse("user-agent: *\n" +
		"allow: /\n" +
		"allow: /$\n" +
		"disallow: /a?b\n" +
		"disallow: /?q\n" +
		"disallow: //x\n" +
		"disallow: /rel\n" +
		"disallow: /u?v=http://\n").Rules()
	for target, line := range map[string]int{
		"":                            3,
		"/":                           3,
		"?q":                          5,
		"rel":                         7,
		"#x":                          3,
		"/#x":                         3,
		"/a?b":                        4,
		"/a?b=c#d":                    4,
		"/a#?b":                       2,
		"//x":                         6,
		"//x/y":                       6,
		"https://example.com":         3,
		"https://example.com#x":       3,
		"https://example.com/":        3,
		"https://example.com?q":       5,
		"https://example.com/a?b":     4,
		"https://example.com//x":      6,
		"https://u:p@example.com/rel": 7,
		"/u?v=http://w":               8,
		"ftp://example.com/a?b":       4,
		"HTTPS://EXAMPLE.COM/a?b":     4,
	} {
		if m := rules.Match(target); m.Line != line {
			t.Errorf("Match(%q) = %+v, want line %d", target, m, line)
		}
	}
}

func TestRules_SeveralTokens(t *testing.T) {
	f := parse("user-agent: a\n" +
		"disallow: /a\n" +
		"\n" +
		"user-agent: b\n" +
		"disallow: /b\n" +
		"\n" +
		"user-agent: *\n" +
		"disallow: /star\n")
	for _, test := range []struct {
		tokens     []string
		disallowed string // the path that the group of the robot disallows
	}{
		{[]string{"a", "b"}, "/a"},
		{[]string{"b", "a"}, "/b"},
		{[]string{"c", "b"}, "/b"},
		{[]string{"c", "d"}, "/star"},
		{nil, "/star"},
		{[]string{""}, "/star"},
	} {
		rules := f.Rules(test.tokens...)
		for _, path := range []string{"/a", "/b", "/star"} {
			want := path != test.disallowed
			if got := rules.Allowed(path); got != want {
				t.Errorf("Rules(%q).Allowed(%q) = %t, want %t", test.tokens, path, got, want)
			}
		}
	}
	if m := parse("").Rules("a").Match("/"); m.Reason != NoGroup || !m.Allowed {
		t.Errorf("Match in an empty file = %+v, want allowed, because there is no group", m)
	}
	var zero Rules
	if d, ok := zero.CrawlDelay(); ok {
		t.Errorf("CrawlDelay of zero Rules = %v, want none", d)
	}
	if m := zero.Match("/"); m.Reason != NoGroup || !zero.Allowed("/") {
		t.Errorf("Match of zero Rules = %+v, want allowed, because there is no group", m)
	}
}

// TestMatch_LineNumbers checks that LF, CR and CR LF each end a line.
func TestMatch_LineNumbers(t *testing.T) {
	f := parse("# 1\r\n" +
		"\r\n" +
		"user-agent: *\r\r\n" +
		"disallow: /5\n" +
		"\n" +
		"\rdisallow: /8\r\n" +
		"disallow: /9\rdisallow: /10")
	for n := range 11 {
		target := fmt.Sprintf("/%d", n)
		want := 0
		if n == 5 || n >= 8 {
			want = n
		}
		if m := f.Rules().Match(target); m.Line != want {
			t.Errorf("Match(%q) is by line %d, want %d", target, m.Line, want)
		}
	}
}

func TestCrawlDelay(t *testing.T) {
	const none = -1
	for _, test := range []struct {
		lines string
		want  time.Duration
	}{
		{"crawl-delay: 10", 10 * time.Second},
		{"Crawl-Delay: 0.5 # please", 500 * time.Millisecond},
		{"crawl-delay: .25", 250 * time.Millisecond},
		{"crawl-delay: 3.", 3 * time.Second},
		{"crawl-delay: 0", 0},
		{"crawl-delay: 007", 7 * time.Second},
		{"crawldelay: 2", 2 * time.Second},
		{"crawl-delay: 1\ncrawl-delay: 3\ncrawl-delay: 2", 3 * time.Second},
		{"disallow: /\ncrawl-delay: 1\n\nuser-agent: *\ncrawl-delay: 4", 4 * time.Second},
		{"crawl-delay: soon\ncrawl-delay: 1", time.Second},
		{"disallow: /\n\nuser-agent: other\ncrawl-delay: 9", none},
		{"crawl-delay: 99999999999999999999", syntax.MaxDelay},
		{"crawl-delay: " + strings.Repeat("9", 10_000), syntax.MaxDelay},
		{"crawl-delay:", none},
		{"crawl-delay: .", none},
		{"crawl-delay: 1.2.3", none},
		{"crawl-delay: 0x10", none},
		{"crawl-delay: 1e3", none},
		{"crawl-delay: -1", none},
		{"crawl-delay: +1", none},
		{"crawl-delay: 1_000", none},
		{"crawl-delay: 1,5", none},
		{"crawl-delay: 10s", none},
		{"crawl-delay: inf", none},
		{"crawl-delay: NaN", none},
		{"crawl-delay: ١", none},
	} {
		got, ok := parse("user-agent: *\n" + test.lines + "\n").Rules("x").CrawlDelay()
		if !ok {
			if got != 0 {
				t.Errorf("CrawlDelay with %q = %v and false, want 0", test.lines, got)
			}
			got = none
		}
		if got != test.want {
			t.Errorf("CrawlDelay with %q = %v, want %v", test.lines, got, test.want)
		}
	}
	if d, ok := parse("crawl-delay: 5\nuser-agent: *\ndisallow: /\n").Rules().CrawlDelay(); ok {
		t.Errorf("CrawlDelay before any user-agent line = %v, want none", d)
	}
}

// TestCrawlDelay_SharedGroup checks that a Crawl-delay applies to the
// user-agent lines after the previous Crawl-delay of the group.
func TestCrawlDelay_SharedGroup(t *testing.T) {
	const none = "none"
	for _, test := range []struct {
		name, robots string
		want         map[string]string // the delay for each robot; the file does not name "other"
	}{
		{"two delays, and rules for both", "user-agent: iSec_Bot\n" +
			"crawl-delay: 300\n" +
			"user-agent: *\n" +
			"crawl-delay: 30\n" +
			"disallow: /a\n",
			map[string]string{"iSec_Bot": "5m0s", "other": "30s"}},
		{"one delay after several lines", "user-agent: a\n" +
			"user-agent: b\n" +
			"crawl-delay: 3\n" +
			"disallow: /a\n",
			map[string]string{"a": "3s", "b": "3s", "other": none}},
		{"several lines, each with several robots", "user-agent: a\n" +
			"user-agent: b\n" +
			"crawl-delay: 3\n" +
			"user-agent: c\n" +
			"user-agent: *\n" +
			"crawl-delay: 4\n",
			map[string]string{"a": "3s", "b": "3s", "c": "4s", "other": "4s"}},
		{"no delay after the last user-agent line", "user-agent: a\ncrawl-delay: 3\n\nuser-agent: b\ndisallow: /a\n",
			map[string]string{"a": "3s", "b": none}},
		{"one delay after the rules", "user-agent: a\nuser-agent: b\ndisallow: /a\ncrawl-delay: 3\n",
			map[string]string{"a": "3s", "b": "3s"}},
		{"one delay before the rules, and one after them", "user-agent: a\n" +
			"crawl-delay: 3\n" +
			"user-agent: b\n" +
			"disallow: /a\n" +
			"crawl-delay: 4\n",
			map[string]string{"a": "3s", "b": "4s"}},
		{"a second, larger delay for the same robot", "user-agent: a\n" +
			"crawl-delay: 3\n" +
			"user-agent: b\n" +
			"crawl-delay: 4\n" +
			"crawl-delay: 5\n",
			map[string]string{"a": "3s", "b": "5s"}},
		{"a second, smaller delay for the same robots", "user-agent: a\n" +
			"user-agent: b\n" +
			"crawl-delay: 4\n" +
			"disallow: /a\n" +
			"crawl-delay: 1\n",
			map[string]string{"a": "4s", "b": "4s"}},
		{"other fields between user-agent lines", "user-agent: a\n" +
			"request-rate: 1/10s\n" +
			"sitemap: https://example.com/s.xml\n" +
			"\n" +
			"user-agent: b\n" +
			"crawl-delay: 4\n",
			map[string]string{"a": "4s", "b": "4s"}},
		{"an invalid delay for one robot", "user-agent: a\n" +
			"crawl-delay: soon\n" +
			"user-agent: b\n" +
			"crawl-delay: 4\n",
			map[string]string{"a": none, "b": "4s"}},
		{"an invalid delay before a valid one", "user-agent: a\n" +
			"crawl-delay: soon\n" +
			"crawl-delay: 2\n" +
			"user-agent: b\n" +
			"crawl-delay: 4\n",
			map[string]string{"a": "2s", "b": "4s"}},
		{"a robot named twice", "user-agent: a\n" +
			"crawl-delay: 3\n" +
			"user-agent: b\n" +
			"user-agent: A/2.0\n" +
			"crawl-delay: 1\n",
			map[string]string{"a": "3s", "b": "1s"}},
		{"merged groups", "user-agent: a\n" +
			"crawl-delay: 3\n" +
			"user-agent: b\n" +
			"disallow: /a\n" +
			"\n" +
			"user-agent: c\n" +
			"crawl-delay: 9\n" +
			"user-agent: b\n" +
			"user-agent: a\n" +
			"crawl-delay: 2\n" +
			"disallow: /b\n",
			map[string]string{"a": "3s", "b": "2s", "c": "9s"}},
		{"a delay for * before a robot without one", "user-agent: *\n" +
			"crawl-delay: 5\n" +
			"user-agent: a\n" +
			"disallow: /a\n",
			map[string]string{"a": none, "other": "5s"}},
		{"a delay of 0", "user-agent: a\ncrawl-delay: 0\nuser-agent: *\ncrawl-delay: 8\n",
			map[string]string{"a": "0s", "other": "8s"}},
	} {
		for token, want := range test.want {
			for _, dialect := range []Dialect{RFC9309, Google} {
				f := dialect.Parse([]byte(test.robots))
				got := none
				if d, ok := f.Rules(token).CrawlDelay(); ok {
					got = d.String()
				}
				if got != want {
					t.Errorf("%s, dialect %v: Rules(%q).CrawlDelay() = %s, want %s",
						test.name, dialect, token, got, want)
				}
				got = none
				if d, ok := crawlDelayInFields(f, token); ok {
					got = d.String()
				}
				if got != want {
					t.Errorf("%s, dialect %v: the Crawl-delay in GroupsFor(%q) is %s, want %s",
						test.name, dialect, token, got, want)
				}
			}
		}
	}
}

// crawlDelayInFields returns the greatest Crawl-delay in the Fields that apply
// to a robot.
func crawlDelayInFields(f *File, token string) (delay time.Duration, ok bool) {
	for g := range f.GroupsFor(token) {
		for _, field := range g.Fields {
			d, isDelay := syntax.ParseDelay(field.Value)
			if isDelay && strings.EqualFold(field.Name, "crawl-delay") {
				delay = max(delay, d)
				ok = true
			}
		}
	}
	return delay, ok
}

func TestGroupsAndFields(t *testing.T) {
	f := parse(`Host: example.com
license: https://example.com/license.xml
user-agent: a
request-rate: 1/10s
user-agent: b
disallow: /x
Clean-param: ref /articles/
user-agent: *
noindex: /old
Content-Signal: search=yes, ai-train=no # why not
content-usage: /x train-ai=n
visit-time: 0600-0845
`)
	got := ""
	for g := range f.Groups() {
		got += fmt.Sprintln(g.UserAgents, g.Rules, g.Fields)
	}
	want := `[{a 3} {b 5}] [{Disallow /x 6}] [{request-rate 1/10s 4} {Clean-param ref /articles/ 7}]
[{* 8}] [] [{noindex /old 9} {Content-Signal search=yes, ai-train=no 10} {content-usage /x train-ai=n 11} {visit-time 0600-0845 12}]
`
	if got != want {
		t.Errorf("Groups yields\n%swant\n%s", got, want)
	}
	fields := slices.Collect(f.Fields("LICENSE", "host"))
	wantFields := []Field{
		{"Host", "example.com", 1},
		{"license", "https://example.com/license.xml", 2},
	}
	if !slices.Equal(fields, wantFields) {
		t.Errorf("Fields(LICENSE, host) yields %v, want %v", fields, wantFields)
	}
	if n := len(slices.Collect(f.Fields())); n != 8 {
		t.Errorf("Fields() yields %d fields, want 8", n)
	}
	for _, test := range []struct {
		token string
		agent string
	}{{"b", "a"}, {"c", "*"}} {
		for g := range f.GroupsFor(test.token) {
			if g.UserAgents[0].Value != test.agent {
				t.Errorf("GroupsFor(%q) yields the group of %v, want that of %q",
					test.token, g.UserAgents, test.agent)
			}
		}
	}
}

// TestRules_Concurrent checks that many goroutines can use the same rules.
func TestRules_Concurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("user-agent: *\ncrawl-delay: 1\n")
	for i := range 500 {
		fmt.Fprintf(&b, "disallow: /a%d/\ndisallow: /*/b%d$\n", i, i)
	}
	f := parse(b.String())
	for range 20 {
		rules := f.Rules()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				switch i % 4 {
				case 0:
					rules.CrawlDelay()
				case 1:
					rules.Size()
				}
				if m := rules.Match("/x/b77"); m.Line != 158 || len(m.Group) != 1 {
					t.Errorf("Match(/x/b77) = %+v, want line 158 and a group of one", m)
				}
				if rules.Allowed("/a99/") || !rules.Allowed("/b") {
					t.Errorf("Allowed is %t for /a99/ and %t for /b, want false and true",
						rules.Allowed("/a99/"), rules.Allowed("/b"))
				}
			})
		}
		wg.Wait()
	}
}
