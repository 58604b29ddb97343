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
			checkDialect(t, f, "x", !test.matches, test.path, "http://example.com"+test.path)
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
	checkDialect(t, f, "unhipbot", false, "/", "/index.html", "/org/")
	checkDialect(t, f, "UnhipBot", true, "/robots.txt")
	checkDialect(t, f, "WebCrawler", true, "/", "/org/plans.html", "/late")
	checkDialect(t, f, "excite", true, "/", "/org/plans.html")
	checkDialect(t, f, "otherbot", true, "/org/", "/services/fast.html", "/robots.txt", "/serv%69ce")
	checkDialect(t, f, "otherbot", false, "/", "/index.html", "/org/plans.html", "/orgo.gif")
	checkDialect(t, f, "webcrawl", false, "/") // the record for "webcrawler" is not for "webcrawl"
}

func TestKoster1996Rules(t *testing.T) {
	f := Koster1996.Parse([]byte("User-agent: a\nAllow: /x\nDisallow: /x/y\nDisallow: /*.gif$\nDisallow: /q?r\nDisallow: /100%\n"))
	checkDialect(t, f, "a", true, "/x/y", "/b.gif", "/q?r", "/unmatched", "/100")
	checkDialect(t, f, "a", false, "/*.gif$", "/%2A.gif%24x", "/100%25", "/100%")
	if m := f.Rules("a").Match("/*.gif$"); m.Pattern != "/*.gif$" || m.Line != 4 {
		t.Errorf("got %+v; want the pattern /*.gif$ of line 4", m)
	}
}

// The draft does not merge records, and blank lines separate them.
func TestKoster1996CrawlDelay(t *testing.T) {
	f := Koster1996.Parse([]byte("user-agent: a\ncrawl-delay: 3\nuser-agent: b\ncrawl-delay: 4\ndisallow: /x\n\nuser-agent: a\ncrawl-delay: 9\n"))
	for token, want := range map[string]time.Duration{"a": 3 * time.Second, "b": 4 * time.Second} {
		if got, _ := f.Rules(token).CrawlDelay(); got != want || f.Rules(token).Allowed("/x") {
			t.Errorf("in the draft of 1996 %s has to wait %v, want %v", token, got, want)
		}
	}
}

// Each of these files has another meaning in RFC 9309.
func TestKoster1996AndRFC9309(t *testing.T) {
	for name, tt := range map[string]struct {
		body, path      string
		koster, rfc9309 bool // allowed
	}{
		"the first rule, not the longest": {
			body:   "user-agent: a\nallow: /\ndisallow: /private/\n",
			path:   "/private/",
			koster: true,
		},
		"the first rule, a Disallow": {
			body:    "user-agent: a\ndisallow: /\nallow: /public/\n",
			path:    "/public/",
			rfc9309: true,
		},
		"a blank line ends a record": {"user-agent: a\n\ndisallow: /\n", "/", true, false},
		"a blank line of white space too": {
			body:   "user-agent: a\n \t\ndisallow: /\n",
			path:   "/",
			koster: true,
		},
		"a comment does not": {
			body: "user-agent: a\n# b\ndisallow: /\n",
			path: "/",
		},
		"records are not merged": {
			body:   "user-agent: a\ndisallow: /x\n\nuser-agent: a\ndisallow: /y\n",
			path:   "/y",
			koster: true,
		},
		"the record for all is not merged": {
			body:   "user-agent: *\ndisallow: /x\n\nuser-agent: *\ndisallow: /y\n",
			path:   "/y",
			koster: true,
		},
		"user-agent lines after rules": {
			body:    "user-agent: b\ndisallow: /\nuser-agent: a\nallow: /\n",
			path:    "/",
			rfc9309: true,
		},
		"an asterisk is a byte": {
			body:   "user-agent: a\ndisallow: /*.gif\n",
			path:   "/x.gif",
			koster: true,
		},
		"a dollar is a byte": {
			body:   "user-agent: a\ndisallow: /x$\n",
			path:   "/x",
			koster: true,
		},
		"a query is not compared": {
			body:   "user-agent: a\ndisallow: /x?q=1\n",
			path:   "/x?q=1",
			koster: true,
		},
		"the path before a query is": {
			body: "user-agent: a\ndisallow: /x\n",
			path: "/x?q=1",
		},
		"the name is the whole value": {
			body:   "user-agent: a/1.0\ndisallow: /\n",
			path:   "/",
			koster: true,
		},
		"a record of its own before all": {
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
		"an escape of a query sign is a byte": {
			body: "user-agent: a\ndisallow: /x%3F\n",
			path: "/x%3fy",
		},
	} {
		if got := Koster1996.Parse([]byte(tt.body)).Rules("a").Allowed(tt.path); got != tt.koster {
			t.Errorf("%s: allowed %t in the draft of 1996", name, got)
		}
		if got := Parse([]byte(tt.body)).Rules("a").Allowed(tt.path); got != tt.rfc9309 {
			t.Errorf("%s: allowed %t in RFC 9309", name, got)
		}
	}
}

// referenceKoster is a simple, slow version of the Koster1996 dialect, written
// from its description.
func referenceKoster(body, token, target string) bool {
	for _, n := range []int{3, 2, 1} {
		if bom := "\xef\xbb\xbf"[:n]; strings.HasPrefix(body, bom) {
			body = body[n:]
			break
		}
	}
	path, _, _ := strings.Cut(target, "#")
	if scheme, rest, ok := strings.Cut(path, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		path = rest[indexOr(rest, "/?", len(rest)):]
	}
	path, _, _ = strings.Cut(path, "?")
	canon := referenceKosterBytes("/" + strings.TrimPrefix(path, "/"))
	if slices.Equal(canon, referenceKosterBytes("/robots.txt")) {
		return true
	}
	type line struct{ name, value string }
	var records [][]line
	record := []line{}
	for _, l := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n"), "\n") {
		if strings.Trim(l, " \t\v\f\x00") == "" {
			records, record = append(records, record), nil
			continue
		}
		if i := strings.IndexByte(l, '#'); i >= 0 {
			l = l[:i]
		}
		if name, value, ok := syntax.Split(l, syntax.Span{To: uint32(len(l))}); ok {
			record = append(record, line{name.In(l), value.In(l)})
		}
	}
	records = append(records, record)
	for _, name := range []string{token, "*"} {
		for _, record := range records {
			if name == "" || !slices.ContainsFunc(record, func(l line) bool {
				return syntax.ParseField(l.name) == syntax.UserAgent && strings.EqualFold(l.value, name)
			}) {
				continue
			}
			for _, l := range record {
				field := syntax.ParseField(l.name)
				if field != syntax.Allow && field != syntax.Disallow || l.value == "" {
					continue
				}
				if rule := referenceKosterBytes(l.value); len(canon) >= len(rule) && slices.Equal(rule, canon[:len(rule)]) {
					return field == syntax.Allow
				}
			}
			return true
		}
	}
	return true
}

// referenceKosterBytes returns the bytes of a path, each as a string. An
// escaped "/" is returned as "%2F". So it differs from a "/" that is not
// escaped.
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
