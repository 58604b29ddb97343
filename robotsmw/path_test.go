package robotsmw

import (
	"net/url"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A server may treat different paths as equivalent. A URL is disallowed if any
// form of its path is.
func TestAnotherNameForAPath(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(`User-agent: *
Disallow: /private/
Disallow: //double/
Disallow: /q?x
Disallow: /end$
Disallow: /robots
Allow: /private/open/
`))
	c := newTestTransport(t, &web).Checker()
	for _, tt := range []struct {
		path     string // path and query
		line     int    // the line of the rule that disallows the URL; 0 means allowed
		resolved string
	}{
		// disallowed as written
		{"/private/a", 2, ""},
		{"/private/./a", 2, ""},
		{"//double/a", 3, ""},
		// dot segments (RFC 3986 §5.2.4), escaped or not
		{"/./private/a", 2, "/private/a"},
		{"/x/../private/a", 2, "/private/a"},
		{"/../../private/a", 2, "/private/a"},
		{"/x/%2e%2e/private/a", 2, "/private/a"},
		{"/x/%2E%2e/private/a", 2, "/private/a"},
		{"/x/.%2E/private/a", 2, "/private/a"},
		{"/x/%2e./private/a", 2, "/private/a"},
		{"/%2e/private/a", 2, "/private/a"},
		{"/private/open/../a", 2, "/private/a"},
		{"/private/open/%2e%2e/a?q=/../", 2, "/private/a?q=/../"},
		{"/private/x/..", 2, ""},
		{"/end/x/../../end", 5, "/end"},
		{"/x/../end/.", 0, ""}, // the other form is /end/, which the pattern /end$ does not match
		// empty segments
		{"//private/a", 2, "/private/a"},
		{"///private///a", 2, "/private/a"},
		{"//q?x", 4, "/q?x"},
		// dot segments and empty segments, in either order
		{"/x//../private/a", 2, "/private/a"},
		{"/x/..//private/a", 2, "/private/a"},
		{"/private/a//../../../b", 2, ""},
		{"/x/y//../../private/a", 2, "/private/a"},
		{"/y//../private/../private/a", 2, "/private/a"},
		// allowed as written and in every other form
		{"/public//a", 0, ""},
		{"/public/../a", 0, ""},
		{"/private/open/./a", 0, ""},
		{"/private/open//a", 0, ""},
		{"/.well-known/x", 0, ""},
		{"/...", 0, ""},
		{"/.../private/a", 0, ""},
		{"/..a/private/a", 0, ""},
		{"/%2e%2e%2e/private/a", 0, ""},
		{"/%E3%83%84", 0, ""},
		{"/", 0, ""},
		// no other form of these is disallowed
		{"/x/..%2Fprivate/a", 0, ""},       // RFC 9309 §2.2.2: %2F is no slash
		{"/x%2F../private/a", 0, ""},       // the segment is x%2F..
		{"/x/..;/private/a", 0, ""},        // ";" begins a parameter, which is a part of the segment
		{`/x/..\private/a`, 0, ""},         // a backslash is no slash
		{"/x/%252e%252e/private/a", 0, ""}, // it is unescaped only once, to %2e%2e
		{"/x/../PRIVATE/a", 0, ""},
		{"/x?/../private/a", 0, ""},
		{"/x?y=//private/a", 0, ""},
		{"/?/../q?x", 0, ""},
		// /robots.txt is always allowed; its other names are not special
		{"/robots.txt", 0, ""},
		{"/robots/../robots.txt", 6, ""},
		{"/x/../robots.txt?q", 6, "/robots.txt?q"},
	} {
		u := mustURL(t, "http://a.example"+tt.path)
		d, err := c.Check(t.Context(), u)
		if err != nil {
			t.Errorf("%s: got error %v, want none", tt.path, err)
			continue
		}
		line := d.Line
		if d.Allowed {
			line = 0
		}
		if line != tt.line || d.Resolved != tt.resolved {
			t.Errorf("%s: got %v, resolved %q; want line %d (0 means allowed), resolved %q", tt.path, d, d.Resolved, tt.line, tt.resolved)
		}
		if d.URL != u {
			t.Errorf("%s: Decision.URL is not the *url.URL that was passed to Check, want the same pointer", tt.path)
		}
	}
}

// If robots.txt disallows everything, it also disallows all other names of
// /robots.txt.
func TestOtherNamesOfRobotsTxtAreNotExempt(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(shutRules))
	c := newTestTransport(t, &web).Checker()
	for path, want := range map[string]bool{
		"/robots.txt": true, "//robots.txt": false, "/./robots.txt": false, "/x/../robots.txt": false,
		"/%2e/robots.txt": false, "/robots.txt?q": false,
	} {
		if d := decide(t, c, "http://a.example"+path); d.Allowed != want {
			t.Errorf("%s: got %v; want allowed: %t", path, d, want)
		}
	}
	// The path that is sent is "/%2Frobots.txt".
	u := &url.URL{Scheme: "http", Host: "a.example", Path: "/robots.txt", RawPath: "%2Frobots.txt"}
	if d, err := c.Check(t.Context(), u); err != nil || d.Allowed {
		t.Errorf("/%%2Frobots.txt: got %v and error %v; want disallowed", d, err)
	}
}

// If the path is disallowed in a form other than the written one,
// Decision.Resolved has that form. Group and CrawlDelay are the same as for any
// URL.
func TestDecisionNamesThePathThatDecided(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots("User-agent: ExampleBot\nCrawl-delay: 7\nDisallow: /private/\n"))
	c := newTestTransport(t, &web).Checker()
	d := decide(t, c, "http://a.example/x/%2e%2e/private/a?b=//c")
	want := `disallowed: http://a.example/x/%2e%2e/private/a?b=//c (rule "Disallow: /private/", line 3 of http://a.example/robots.txt, as /private/a?b=//c)`
	if got := d.String(); got != want {
		t.Errorf("String() = %s\n    want %s", got, want)
	}
	if b, err := d.MarshalJSON(); err != nil || !strings.Contains(string(b), `"line":3,"resolved":"/private/a?b=//c","group":["ExampleBot"],"crawl_delay_seconds":7`) {
		t.Errorf("the JSON is %s (error %v), want line 3, the resolved path, the group and the Crawl-delay", b, err)
	}
	if d.URL.Path != "/x/../private/a" || d.CrawlDelay.Seconds() != 7 || len(d.Group) != 1 {
		t.Errorf("got %+v; want the URL that was passed to Check, a Crawl-delay of 7 s and a group of one", d)
	}
}

// A check allocates nothing in two cases: if the path has no other form, or if
// all its forms are allowed.
func TestOtherNamesAllocateNothing(t *testing.T) {
	c := warm(t).Checker()
	for _, raw := range []string{
		"https://example.com/section-7/public/page.html", "https://example.com/.well-known/a",
		"https://example.com/a//b/../c?d=//e",
	} {
		u := mustURL(t, raw)
		if n := testing.AllocsPerRun(100, func() {
			if d, err := c.Check(t.Context(), u); err != nil || !d.Allowed {
				t.Fatalf("got %v and error %v; want allowed", d, err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations, want none", raw, n)
		}
	}
}

// A URL with a megabyte of dots and slashes is checked like any other.
func TestLongPathOfDots(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	c := newTestTransport(t, &web).Checker()
	for _, unit := range []string{"/..", "/a/..", "//", "/%2e%2e", "/a//../"} {
		d, err := c.Check(t.Context(),
			mustURL(t, "http://a.example"+strings.Repeat(unit, 1<<20/len(unit))+"/private/x"))
		if err != nil || d.Allowed {
			t.Errorf("%s: got reason %v and error %v, want disallowed", unit, d.Reason, err)
		}
	}
}
