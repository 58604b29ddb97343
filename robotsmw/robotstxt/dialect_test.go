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

func TestGoogleDialect(t *testing.T) {
	f := Google.Parse([]byte("user-agent: *\ndisallow: /\nallow-from: /in\nallow: /d/index.html\nallow: /%7Ejoe\n\nuser-agent: MJ12bot\ndisallow:\n"))
	checkDialect(t, f, "x", false, "/robots.txt", "/~joe", "/d", "/%69n", "//in", "in")
	checkDialect(t, f, "x", true, "/in", "/d/", "/d/index.html", "/%7Ejoe", "http://example.com/in", "//example.com/in", "example.com/in")
	checkDialect(t, f, "MJ12bot", false, "/")
	checkDialect(t, f, "MJ", true, "/")
	checkDialect(t, Google.Parse([]byte("user-agent: *\ndisallow: /$\n")), "x", false, "#/a#b",
		"http://example.com#/a#b", "example.com", "")
	checkDialect(t, Google.Parse([]byte("user-agent: *\ndisallow: /y\n")), "x", false, "//x/y")
	if m := f.Rules("x").Match("/d/"); m.Pattern != "/d/index.html" || m.Line != 4 {
		t.Errorf("got %+v; want the pattern /d/index.html of line 4", m)
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
