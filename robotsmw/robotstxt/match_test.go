package robotstxt

import (
	"fmt"
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
		// "/%7Ejoe/" counts as "/~joe/", which is shorter than "/*.html$"
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
		if g := got.Group; !slices.Equal(g, test.want.Group) {
			t.Errorf("%s %s: group %v, want %v", test.token, test.target, g, test.want.Group)
		}
		got.Group, test.want.Group = nil, nil
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s %s: %+v, want %+v", test.token, test.target, got, test.want)
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
			t.Errorf("%q: %+v, want line %d", test.robots, m, test.line)
		}
	}
}

func TestTarget(t *testing.T) {
	rules := parse("user-agent: *\nallow: /\nallow: /$\ndisallow: /a?b\ndisallow: /?q\ndisallow: //x\ndisallow: /rel\ndisallow: /u?v=http://\n").Rules()
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
			t.Errorf("%q: %+v, want line %d", target, m, line)
		}
	}
}

func TestRulesOfTheFirstTokenThatHasAGroup(t *testing.T) {
	f := parse("user-agent: a\ndisallow: /a\n\nuser-agent: b\ndisallow: /b\n\nuser-agent: *\ndisallow: /star\n")
	for _, test := range []struct {
		tokens []string
		shut   string
	}{
		{[]string{"a", "b"}, "/a"},
		{[]string{"b", "a"}, "/b"},
		{[]string{"c", "b"}, "/b"},
		{[]string{"c", "d"}, "/star"},
		{nil, "/star"},
		{[]string{""}, "/star"},
	} {
		if rules := f.Rules(test.tokens...); rules.Allowed(test.shut) || rules.Allowed("/a") == (test.shut == "/a") {
			t.Errorf("tokens %q: want the group of %s", test.tokens, test.shut)
		}
	}
	if m := parse("").Rules("a").Match("/"); m.Reason != NoGroup || !m.Allowed {
		t.Errorf("an empty file: %+v", m)
	}
	var zero Rules
	if _, ok := zero.CrawlDelay(); ok || !zero.Allowed("/") || zero.Match("/").Reason != NoGroup {
		t.Error("zero Rules are not those of an empty file")
	}
}

func TestLinesAreCountedByEachLineEnd(t *testing.T) {
	f := parse("# 1\r\n\r\nuser-agent: *\r\r\ndisallow: /5\n\n\rdisallow: /8\r\ndisallow: /9\rdisallow: /10")
	for n := range 11 {
		target := fmt.Sprintf("/%d", n)
		want := 0
		if n == 5 || n >= 8 {
			want = n
		}
		if m := f.Rules().Match(target); m.Line != want {
			t.Errorf("%s: line %d, want %d", target, m.Line, want)
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
				t.Errorf("%q: %v without ok", test.lines, got)
			}
			got = none
		}
		if got != test.want {
			t.Errorf("%q: %v, want %v", test.lines, got, test.want)
		}
	}
	if d, ok := parse("crawl-delay: 5\nuser-agent: *\ndisallow: /\n").Rules().CrawlDelay(); ok {
		t.Errorf("a delay before any user-agent line: got %v, want none, because it applies to no robot",
			d)
	}
}

// TestCrawlDelayOfWhom checks that a Crawl-delay belongs to the user-agent
// lines since the previous Crawl-delay.
func TestCrawlDelayOfWhom(t *testing.T) {
	const none = "none"
	for _, test := range []struct {
		name, robots string
		want         map[string]string // the delay for each robot; the file does not name "other"
	}{
		{"two delays, and rules for both", "user-agent: iSec_Bot\ncrawl-delay: 300\nuser-agent: *\ncrawl-delay: 30\ndisallow: /a\n",
			map[string]string{"iSec_Bot": "5m0s", "other": "30s"}},
		{"one delay after several lines", "user-agent: a\nuser-agent: b\ncrawl-delay: 3\ndisallow: /a\n",
			map[string]string{"a": "3s", "b": "3s", "other": none}},
		{"several lines, each with several robots", "user-agent: a\nuser-agent: b\ncrawl-delay: 3\nuser-agent: c\nuser-agent: *\ncrawl-delay: 4\n",
			map[string]string{"a": "3s", "b": "3s", "c": "4s", "other": "4s"}},
		{"the last have none", "user-agent: a\ncrawl-delay: 3\n\nuser-agent: b\ndisallow: /a\n",
			map[string]string{"a": "3s", "b": none}},
		{"after the rules", "user-agent: a\nuser-agent: b\ndisallow: /a\ncrawl-delay: 3\n",
			map[string]string{"a": "3s", "b": "3s"}},
		{"the robot with one has had it before the rules", "user-agent: a\ncrawl-delay: 3\nuser-agent: b\ndisallow: /a\ncrawl-delay: 4\n",
			map[string]string{"a": "3s", "b": "4s"}},
		{"a second line for the same, larger", "user-agent: a\ncrawl-delay: 3\nuser-agent: b\ncrawl-delay: 4\ncrawl-delay: 5\n",
			map[string]string{"a": "3s", "b": "5s"}},
		{"a second line for the same, smaller", "user-agent: a\nuser-agent: b\ncrawl-delay: 4\ndisallow: /a\ncrawl-delay: 1\n",
			map[string]string{"a": "4s", "b": "4s"}},
		{"other lines part nothing", "user-agent: a\nrequest-rate: 1/10s\nsitemap: https://example.com/s.xml\n\nuser-agent: b\ncrawl-delay: 4\n",
			map[string]string{"a": "4s", "b": "4s"}},
		{"a value that is no number is a robot's all the same", "user-agent: a\ncrawl-delay: soon\nuser-agent: b\ncrawl-delay: 4\n",
			map[string]string{"a": none, "b": "4s"}},
		{"and another line makes up for it", "user-agent: a\ncrawl-delay: soon\ncrawl-delay: 2\nuser-agent: b\ncrawl-delay: 4\n",
			map[string]string{"a": "2s", "b": "4s"}},
		{"a robot named twice", "user-agent: a\ncrawl-delay: 3\nuser-agent: b\nuser-agent: A/2.0\ncrawl-delay: 1\n",
			map[string]string{"a": "3s", "b": "1s"}},
		{"merged groups", "user-agent: a\ncrawl-delay: 3\nuser-agent: b\ndisallow: /a\n\nuser-agent: c\ncrawl-delay: 9\nuser-agent: b\nuser-agent: a\ncrawl-delay: 2\ndisallow: /b\n",
			map[string]string{"a": "3s", "b": "2s", "c": "9s"}},
		{"a robot of its own is not told the delay of *", "user-agent: *\ncrawl-delay: 5\nuser-agent: a\ndisallow: /a\n",
			map[string]string{"a": none, "other": "5s"}},
		{"0 is a delay", "user-agent: a\ncrawl-delay: 0\nuser-agent: *\ncrawl-delay: 8\n",
			map[string]string{"a": "0s", "other": "8s"}},
	} {
		for token, want := range test.want {
			for _, dialect := range []Dialect{RFC9309, Google} {
				f := dialect.Parse([]byte(test.robots))
				got, given := none, none
				if d, ok := f.Rules(token).CrawlDelay(); ok {
					got = d.String()
				}
				var most time.Duration
				for g := range f.GroupsFor(token) {
					for _, field := range g.Fields {
						if d, ok := syntax.ParseDelay(field.Value); ok && strings.EqualFold(field.Name, "crawl-delay") {
							most = max(most, d)
							given = most.String()
						}
					}
				}
				if got != want || given != want {
					t.Errorf("%s, %v: %s has to wait %s by Rules and %s by GroupsFor, want %s",
						test.name, dialect, token, got, given, want)
				}
			}
		}
	}
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
		t.Errorf("groups:\n%swant:\n%s", got, want)
	}
	if got := fmt.Sprint(slices.Collect(f.Fields("LICENSE", "host"))); got != "[{Host example.com 1} {license https://example.com/license.xml 2}]" {
		t.Errorf("fields: %s", got)
	}
	if n := len(slices.Collect(f.Fields())); n != 8 {
		t.Errorf("%d fields in all, want 8", n)
	}
	for _, test := range []struct {
		token string
		agent string
	}{{"b", "a"}, {"c", "*"}} {
		for g := range f.GroupsFor(test.token) {
			if g.UserAgents[0].Value != test.agent {
				t.Errorf("group for %s: %v", test.token, g.UserAgents)
			}
		}
	}
}

// TestRules_Concurrent checks that many goroutines can use the same
// rules.
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
					t.Errorf("got %+v; want line 158 and a group of one", m)
				}
				if rules.Allowed("/a99/") || !rules.Allowed("/b") {
					t.Error("wrong verdict")
				}
			})
		}
		wg.Wait()
	}
}
