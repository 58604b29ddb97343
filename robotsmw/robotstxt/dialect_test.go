package robotstxt

import "testing"

func checkDialect(t *testing.T, f *File, token string, allowed bool, targets ...string) {
	t.Helper()
	for _, target := range targets {
		if m := f.Rules(token).Match(target); m.Allowed != allowed {
			t.Errorf("token %q, target %q: %+v, want allowed %t", token, target, m, allowed)
		}
	}
}

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
		t.Errorf("%+v", m)
	}
}

func TestGoogleDialect(t *testing.T) {
	f := Google.Parse([]byte("user-agent: *\ndisallow: /\nallow-from: /in\nallow: /d/index.html\nallow: /%7Ejoe\n\nuser-agent: MJ12bot\ndisallow:\n"))
	checkDialect(t, f, "x", false, "/robots.txt", "/~joe", "/d", "/%69n", "//in", "in")
	checkDialect(t, f, "x", true, "/in", "/d/", "/d/index.html", "/%7Ejoe", "http://example.com/in", "//example.com/in", "example.com/in")
	checkDialect(t, f, "MJ12bot", false, "/")
	checkDialect(t, f, "MJ", true, "/")
	checkDialect(t, Google.Parse([]byte("user-agent: *\ndisallow: /$\n")), "x", false, "#/a#b", "http://example.com#/a#b", "example.com", "")
	checkDialect(t, Google.Parse([]byte("user-agent: *\ndisallow: /y\n")), "x", false, "//x/y")
	if m := f.Rules("x").Match("/d/"); m.Pattern != "/d/index.html" || m.Line != 4 {
		t.Errorf("%+v", m)
	}
}

// TestRobotsTxtItself checks which dialects exempt /robots.txt, for robots with
// and without a group.
func TestRobotsTxtItself(t *testing.T) {
	for _, dialect := range []Dialect{RFC9309, Google, Koster1996} {
		f := dialect.Parse([]byte("user-agent: shut\ndisallow: /\n\nuser-agent: open\ndisallow:\n\nuser-agent: part\ndisallow: /x\n"))
		for token, google := range map[string]Reason{"shut": ByRule, "open": EmptyGroup, "part": NoMatch, "nobody": NoGroup} {
			want := IsRobotsTxt
			if dialect == Google {
				want = google
			}
			if m := f.Rules(token).Match("/robots.txt"); m.Reason != want || m.Allowed != (want != ByRule) {
				t.Errorf("dialect %d, token %q: %+v, want the reason %v", dialect, token, m, want)
			}
		}
	}
}
