package robotstxt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// TestKoster1996Table checks the tables of section 3.2.2 of Koster's draft of
// 1996.
func TestKoster1996Table(t *testing.T) {
	for _, test := range []struct {
		record, path string
		matches      bool
	}{
		{"/tmp", "/tmp", true},
		{"/tmp", "/tmp.html", true},
		{"/tmp", "/tmp/a.html", true},
		{"/tmp/", "/tmp", false},
		{"/tmp/", "/tmp/", true},
		{"/tmp/", "/tmp/a.html", true},
		{"/a%3cd.html", "/a%3cd.html", true},
		{"/a%3Cd.html", "/a%3cd.html", true},
		{"/a%3cd.html", "/a%3Cd.html", true},
		{"/a%3Cd.html", "/a%3Cd.html", true},
		{"/a%2fb.html", "/a%2fb.html", true},
		{"/a%2fb.html", "/a%2Fb.html", true},
		{"/a%2fb.html", "/a/b.html", false},
		{"/a/b.html", "/a%2fb.html", false},
		{"/a/b.html", "/a/b.html", true},
		{"/%7ejoe/index.html", "/~joe/index.html", true},
		{"/~joe/index.html", "/%7Ejoe/index.html", true},
	} {
		t.Run(test.record+" and "+test.path, func(t *testing.T) {
			f := Koster1996.Parse([]byte("User-agent: *\nDisallow: " + test.record + "\n"))
			checkAccess(t, f, "x", !test.matches, test.path+" http://example.com"+test.path)
		})
	}
}

func TestKoster1996Records(t *testing.T) {
	f := Koster1996.Parse([]byte(`# /robots.txt for http://www.fict.org/

User-agent: unhipbot
Disallow: /

User-agent: webcrawler
User-agent: excite
Disallow:

User-agent: *
# not the end of the record
Disallow: /org/plans.html
Allow: /org/
Allow: /serv
Disallow: /

User-agent: webcrawler
Disallow: /late
`))
	checkDisallowed(t, f, "unhipbot", "/ /index.html /org/")
	checkAllowed(t, f, "UnhipBot", "/robots.txt")
	checkAllowed(t, f, "WebCrawler", "/ /org/plans.html /late")
	checkAllowed(t, f, "excite", "/ /org/plans.html")
	checkAllowed(t, f, "otherbot", "/org/ /services/fast.html /robots.txt /serv%69ce")
	checkDisallowed(t, f, "otherbot", "/ /index.html /org/plans.html /orgo.gif")
	checkDisallowed(t, f, "webcrawl", "/") // the record for "webcrawler" is not for "webcrawl"
}

func TestKoster1996Rules(t *testing.T) {
	f := Koster1996.Parse([]byte("User-agent: a\n" +
		"Allow: /x\n" +
		"Disallow: /x/y\n" +
		"Disallow: /*.gif$\n" +
		"Disallow: /q?r\n" +
		"Disallow: /100%\n"))
	checkAllowed(t, f, "a", "/x/y /b.gif /q?r /unmatched /100")
	checkDisallowed(t, f, "a", "/*.gif$ /%2A.gif%24x /100%25 /100%")
	if m := f.Rules("a").Match("/*.gif$"); m.Pattern != "/*.gif$" || m.Line != 4 {
		t.Errorf("Match of the path /*.gif$ = %+v, want the pattern /*.gif$ of line 4", m)
	}
}

// TestKoster1996CrawlDelay checks that only the first record for a robot
// applies.
func TestKoster1996CrawlDelay(t *testing.T) {
	f := Koster1996.Parse([]byte("user-agent: a\n" +
		"crawl-delay: 3\n" +
		"user-agent: b\n" +
		"crawl-delay: 4\n" +
		"disallow: /x\n" +
		"\n" +
		"user-agent: a\n" +
		"crawl-delay: 9\n"))
	for token, want := range map[string]time.Duration{"a": 3 * time.Second, "b": 4 * time.Second} {
		if got, _ := f.Rules(token).CrawlDelay(); got != want {
			t.Errorf("Rules(%q).CrawlDelay() = %v, want %v", token, got, want)
		}
		checkDisallowed(t, f, token, "/x")
	}
}

// TestKoster1996AndRFC9309 compares the two dialects, with files that most of
// them would read differently.
func TestKoster1996AndRFC9309(t *testing.T) {
	for name, tt := range map[string]struct {
		body, path      string
		koster, rfc9309 bool // whether the dialect allows the path
	}{
		"a longer Disallow after an Allow": {
			body:   "user-agent: a\nallow: /\ndisallow: /private/\n",
			path:   "/private/",
			koster: true,
		},
		"a longer Allow after a Disallow": {
			body:    "user-agent: a\ndisallow: /\nallow: /public/\n",
			path:    "/public/",
			rfc9309: true,
		},
		"a blank line in a record": {"user-agent: a\n\ndisallow: /\n", "/", true, false},
		"a blank line of white space": {
			body:   "user-agent: a\n \t\ndisallow: /\n",
			path:   "/",
			koster: true,
		},
		"a line with only a comment": {
			body: "user-agent: a\n# b\ndisallow: /\n",
			path: "/",
		},
		"two records for the robot": {
			body:   "user-agent: a\ndisallow: /x\n\nuser-agent: a\ndisallow: /y\n",
			path:   "/y",
			koster: true,
		},
		"two records for all robots": {
			body:   "user-agent: *\ndisallow: /x\n\nuser-agent: *\ndisallow: /y\n",
			path:   "/y",
			koster: true,
		},
		"user-agent lines after rules": {
			body:    "user-agent: b\ndisallow: /\nuser-agent: a\nallow: /\n",
			path:    "/",
			rfc9309: true,
		},
		"an asterisk": {
			body:   "user-agent: a\ndisallow: /*.gif\n",
			path:   "/x.gif",
			koster: true,
		},
		"a dollar sign": {
			body:   "user-agent: a\ndisallow: /x$\n",
			path:   "/x",
			koster: true,
		},
		"a rule with a query": {
			body:   "user-agent: a\ndisallow: /x?q=1\n",
			path:   "/x?q=1",
			koster: true,
		},
		"a target with a query": {
			body: "user-agent: a\ndisallow: /x\n",
			path: "/x?q=1",
		},
		"a user-agent line with a version": {
			body:   "user-agent: a/1.0\ndisallow: /\n",
			path:   "/",
			koster: true,
		},
		"a record for all before the robot's own": {
			body:    "user-agent: *\ndisallow: /\n\nuser-agent: a\ndisallow: /x\n",
			path:    "/y",
			koster:  true,
			rfc9309: true,
		},
		"an equal Allow after a Disallow": {
			body:    "user-agent: a\ndisallow: /x\nallow: /x\n",
			path:    "/x",
			rfc9309: true,
		},
		"an escaped percent sign": {
			body: "user-agent: a\ndisallow: /100%25\n",
			path: "/100%25",
		},
		"an escaped question mark": {
			body: "user-agent: a\ndisallow: /x%3F\n",
			path: "/x%3fy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkAccess(t, Koster1996.Parse([]byte(tt.body)), "a", tt.koster, tt.path)
			checkAccess(t, parse(tt.body), "a", tt.rfc9309, tt.path)
		})
	}
}

// referenceKoster is a simple, slow version of the Koster1996 dialect, written
// from its description.
func referenceKoster(body, token, target string) bool {
	path, _, _ := strings.Cut(target, "#")
	if scheme, rest, ok := strings.Cut(path, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		path = rest[indexOr(rest, "/?", len(rest)):]
	}
	path, _, _ = strings.Cut(path, "?")
	canon := referenceKosterBytes("/" + strings.TrimPrefix(path, "/"))
	if slices.Equal(canon, referenceKosterBytes("/robots.txt")) {
		return true
	}
	records := referenceKosterRecords(body)
	for _, name := range []string{token, "*"} {
		if name == "" {
			continue
		}
		i := slices.IndexFunc(records, func(r kosterRecord) bool { return r.names(name) })
		if i >= 0 {
			return records[i].allows(canon)
		}
	}
	return true
}

// A kosterRecord has the lines between two blank lines.
type kosterRecord []kosterLine

type kosterLine struct {
	field syntax.Field
	value string
}

func referenceKosterRecords(body string) (records []kosterRecord) {
	var record kosterRecord
	for _, text := range referenceLines(body) {
		if strings.Trim(text, " \t\v\f\x00") == "" {
			records = append(records, record)
			record = nil
			continue
		}
		text, _, _ = strings.Cut(text, "#")
		name, value, ok := syntax.Split(text, syntax.Span{To: uint32(len(text))})
		if ok {
			record = append(record, kosterLine{syntax.ParseField(name.In(text)), value.In(text)})
		}
	}
	return append(records, record)
}

// names reports whether a user-agent line of the record has the given name.
func (r kosterRecord) names(name string) bool {
	return slices.ContainsFunc(r, func(l kosterLine) bool {
		return l.field == syntax.UserAgent && strings.EqualFold(l.value, name)
	})
}

// allows reports whether the record allows a path, which is in the form that
// referenceKosterBytes returns.
func (r kosterRecord) allows(path []string) bool {
	for _, l := range r {
		isRule := l.field == syntax.Allow || l.field == syntax.Disallow
		if !isRule || l.value == "" {
			continue
		}
		pattern := referenceKosterBytes(l.value)
		if len(path) >= len(pattern) && slices.Equal(pattern, path[:len(pattern)]) {
			return l.field == syntax.Allow
		}
	}
	return true
}

// referenceKosterBytes returns the decoded bytes of a path, each as a string.
// An escaped "/" is returned as "%2F", because it differs from a "/" that is
// not escaped.
func referenceKosterBytes(path string) (canon []string) {
	for path != "" {
		written, value, escaped := referenceByte(path)
		path = path[len(written):]
		if escaped && value == '/' {
			canon = append(canon, "%2F")
		} else {
			canon = append(canon, string([]byte{value}))
		}
	}
	return canon
}
