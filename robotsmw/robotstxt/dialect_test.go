package robotstxt

import "testing"

func TestGoogleDialect(t *testing.T) {
	f := Google.Parse([]byte("user-agent: *\n" +
		"disallow: /\n" +
		"allow-from: /in\n" +
		"allow: /d/index.html\n" +
		"allow: /%7Ejoe\n" +
		"\n" +
		"user-agent: MJ12bot\n" +
		"disallow:\n"))
	checkDisallowed(t, f, "x", "/robots.txt /~joe /d /%69n //in in")
	checkAllowed(t, f, "x", "/in /d/ /d/index.html /%7Ejoe")
	checkAllowed(t, f, "x", "http://example.com/in //example.com/in example.com/in")
	checkDisallowed(t, f, "MJ12bot", "/")
	checkAllowed(t, f, "MJ", "/")
	onlyRoot := Google.Parse([]byte("user-agent: *\ndisallow: /$\n"))
	if m := onlyRoot.Rules("x").Match(""); m.Allowed {
		t.Errorf("Match(%q) = %+v, want Allowed false", "", m)
	}
	checkDisallowed(t, onlyRoot, "x", "#/a#b http://example.com#/a#b example.com")
	checkDisallowed(t, Google.Parse([]byte("user-agent: *\ndisallow: /y\n")), "x", "//x/y")
	if m := f.Rules("x").Match("/d/"); m.Pattern != "/d/index.html" || m.Line != 4 {
		t.Errorf("Match(/d/) = %+v, want the pattern /d/index.html of line 4", m)
	}
}

// TestRobotsTxtItself checks which dialects exempt /robots.txt, for robots with
// and without a group.
func TestRobotsTxtItself(t *testing.T) {
	for _, dialect := range []Dialect{RFC9309, Google, Koster1996} {
		f := dialect.Parse([]byte("user-agent: shut\n" +
			"disallow: /\n" +
			"\n" +
			"user-agent: open\n" +
			"disallow:\n" +
			"\n" +
			"user-agent: part\n" +
			"disallow: /x\n"))
		for token, google := range map[string]Reason{
			"shut":  ByRule,
			"open":  EmptyGroup,
			"part":  NoMatch,
			"other": NoGroup,
		} {
			want := IsRobotsTxt
			if dialect == Google {
				want = google
			}
			if m := f.Rules(token).Match("/robots.txt"); m.Reason != want || m.Allowed != (want != ByRule) {
				t.Errorf("dialect %d: Rules(%q).Match(/robots.txt) = %+v, want the reason %v", dialect, token, m, want)
			}
		}
	}
}
