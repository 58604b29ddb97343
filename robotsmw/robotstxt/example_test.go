package robotstxt_test

import (
	"fmt"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func Example() {
	file := robotstxt.Parse([]byte(`
User-agent: ExampleBot
Disallow: /private/
Allow: /private/press/

User-agent: *
Disallow: /
`))
	rules := file.Rules("ExampleBot")
	fmt.Println(rules.Allowed("/index.html"))
	fmt.Println(rules.Allowed("/private/diary.html"))
	fmt.Println(rules.Allowed("https://example.com/private/press/2026.html"))
	// Output:
	// true
	// false
	// true
}

// A Match contains the reason that a robot may not fetch a page.
func ExampleRules_Match() {
	rules := robotstxt.Parse([]byte(`User-agent: *
Disallow: /*.pdf$   # too big
Allow: /press/
`)).Rules("ExampleBot")

	for _, target := range []string{"/report.pdf", "/press/report.pdf", "/about.html", "/robots.txt"} {
		m := rules.Match(target)
		fmt.Printf("%s: allowed %t, %v", target, m.Allowed, m.Reason)
		if m.Reason == robotstxt.ByRule {
			fmt.Printf(" on line %d: %v: %s", m.Line, m.Kind, m.Pattern)
		}
		fmt.Println()
	}
	// Output:
	// /report.pdf: allowed false, rule on line 2: Disallow: /*.pdf$
	// /press/report.pdf: allowed true, rule on line 3: Allow: /press/
	// /about.html: allowed true, no rule matches
	// /robots.txt: allowed true, robots.txt itself
}

// A link may contain the path of a disallowed page in another form.
func ExampleRules_MatchResolved() {
	rules := robotstxt.Parse([]byte("User-agent: *\nDisallow: /private/\n")).Rules("ExampleBot")
	for _, target := range []string{"/press/../private/a", "//private/a", "/press/./a"} {
		m, resolved := rules.MatchResolved(target)
		fmt.Printf("%s: alone %v, resolved %v %q\n",
			target, rules.Allowed(target), m.Allowed, resolved)
	}
	// Output:
	// /press/../private/a: alone true, resolved false "/private/a"
	// //private/a: alone true, resolved false "/private/a"
	// /press/./a: alone true, resolved true ""
}

// A robot that was renamed still obeys the rules for its old name.
func ExampleFile_Rules() {
	file := robotstxt.Parse([]byte(`
User-agent: OldBot
Disallow: /old

User-agent: *
Disallow: /
`))
	rules := file.Rules("NewBot", "OldBot")
	fmt.Println(rules.Allowed("/old"), rules.Allowed("/new"))
	fmt.Println(rules.Match("/old").Group)
	// Output:
	// false true
	// [{OldBot 2}]
}

func ExampleRules_CrawlDelay() {
	rules := robotstxt.Parse([]byte("User-agent: *\nCrawl-delay: 2.5\n")).Rules("ExampleBot")
	if delay, ok := rules.CrawlDelay(); ok {
		fmt.Println("wait", delay)
	}
	// Output: wait 2.5s
}

// Robots that share their rules may each have their own delay.
func ExampleRules_CrawlDelay_several() {
	file := robotstxt.Parse([]byte(`
User-agent: SlowBot
Crawl-delay: 300
User-agent: *
Crawl-delay: 30
Disallow: /cart
`))
	for _, token := range []string{"SlowBot", "ExampleBot"} {
		delay, _ := file.Rules(token).CrawlDelay()
		fmt.Println(token, "waits", delay)
	}
	// Output:
	// SlowBot waits 5m0s
	// ExampleBot waits 30s
}

func ExampleFile_Sitemaps() {
	file := robotstxt.Parse([]byte(`
Sitemap: https://example.com/sitemap.xml
User-agent: *
Disallow: /tmp
sitemap: https://example.com/news.xml
`))
	fmt.Println(file.Sitemaps())
	// Output: [https://example.com/sitemap.xml https://example.com/news.xml]
}

// This program prints those lines of a robot's groups that are neither rules
// nor user-agent lines.
func ExampleFile_GroupsFor() {
	file := robotstxt.Parse([]byte(`
User-agent: *
Content-Signal: search=yes, ai-train=no
Disallow: /tmp
Visit-time: 0600-0845
`))
	for group := range file.GroupsFor("ExampleBot") {
		for _, field := range group.Fields {
			fmt.Println(field.Line, field.Name, "is", field.Value)
		}
	}
	// Output:
	// 3 Content-Signal is search=yes, ai-train=no
	// 5 Visit-time is 0600-0845
}

// A File takes more memory than its text. The Rules for one robot take less.
func ExampleFile_Size() {
	text := []byte(strings.Repeat("User-agent: OtherBot\nDisallow: /\n", 1000))
	file := robotstxt.Parse(text)
	fmt.Println(file.Size() > len(text), file.Rules("ExampleBot").Size() < len(text)/100)
	// Output: true true
}

func ExampleFile_Fields() {
	file := robotstxt.Parse([]byte("License: https://example.com/license.xml\n" +
		"User-agent: *\n" +
		"Disallow: /tmp\n"))
	for field := range file.Fields("license") {
		fmt.Println(field.Value)
	}
	// Output: https://example.com/license.xml
}

// This program shows the deciding rule among the lines around it.
func ExampleFile_Lines() {
	file := robotstxt.Parse([]byte("# Come in.\n" +
		"User-agent: *\n" +
		"Disallow: /attic/\n" +
		"Disallow: /cellar/\n"))
	match := file.Rules("ExampleBot").Match("/attic/box")
	for line, text := range file.Lines() {
		mark := " "
		if line == match.Line {
			mark = ">"
		}
		fmt.Println(mark, line, text)
	}
	// Output:
	//   1 # Come in.
	//   2 User-agent: *
	// > 3 Disallow: /attic/
	//   4 Disallow: /cellar/
}

func ExampleFile_Groups() {
	file := robotstxt.Parse([]byte("User-agent: a\n" +
		"User-agent: b\n" +
		"Disallow: /x\n" +
		"\n" +
		"User-agent: *\n" +
		"Allow: /\n"))
	for group := range file.Groups() {
		fmt.Println(group.UserAgents, group.Rules)
	}
	// Output:
	// [{a 1} {b 2}] [{Disallow /x 3}]
	// [{* 5}] [{Allow / 6}]
}

// This program shows whether Googlebot will fetch a page that RFC 9309
// disallows, and whether a robot of the nineties would.
func ExampleDialect_Parse() {
	body := []byte("User-agent: *\nDisallow: /%7Ejoe/\n")
	for _, by := range []struct {
		name    string
		dialect robotstxt.Dialect
	}{{
		name:    "RFC 9309",
		dialect: robotstxt.RFC9309,
	}, {"Google", robotstxt.Google}, {"Koster 1996", robotstxt.Koster1996}} {
		fmt.Println(by.name, by.dialect.Parse(body).Rules("Googlebot").Allowed("/~joe/"))
	}
	// Output:
	// RFC 9309 false
	// Google true
	// Koster 1996 false
}

func ExampleFile_Truncated() {
	text := "User-agent: *\nDisallow: /private/\n"
	padding := "# " + strings.Repeat("x", robotstxt.MaxSize) + "\n"
	fmt.Println(robotstxt.Parse([]byte(text)).Truncated(), robotstxt.Parse([]byte(text+padding)).Truncated())
	// Output: false true
}
