package robotstxt

import (
	"slices"
	"strings"
	"testing"
)

// checkAllowed checks that the robot with the given token may fetch each of the
// targets, which are separated by blanks.
func checkAllowed(t *testing.T, f *File, token, targets string) {
	t.Helper()
	checkAccess(t, f, token, true, targets)
}

// checkDisallowed checks that the robot with the given token may not fetch any
// of the targets, which are separated by blanks.
func checkDisallowed(t *testing.T, f *File, token, targets string) {
	t.Helper()
	checkAccess(t, f, token, false, targets)
}

func checkAccess(t *testing.T, f *File, token string, allowed bool, targets string) {
	t.Helper()
	for target := range strings.FieldsSeq(targets) {
		if m := f.Rules(token).Match(target); m.Allowed != allowed {
			t.Errorf("Rules(%q).Match(%q) = %+v, want Allowed %t", token, target, m, allowed)
		}
	}
}

func parse(robots string) *File { return Parse([]byte(robots)) }

func TestRFC9309_2_2_1_UserAgentLine(t *testing.T) {
	t.Run("tokens are case-insensitive", func(t *testing.T) {
		f := parse("user-agent: EXAMPLEbot\ndisallow: /foo\n")
		checkDisallowed(t, f, "ExampleBot", "/foo")
		checkDisallowed(t, f, "examplebot", "/foo")
		checkDisallowed(t, f, "exampleBOT", "/foo")
	})
	t.Run("a line with a part of the token, or with a longer token", func(t *testing.T) {
		f := parse("user-agent: Bot\ndisallow: /\n\nuser-agent: ExampleBotImages\ndisallow: /\n")
		checkAllowed(t, f, "ExampleBot", "/foo")
	})
	t.Run("groups for one token are one group", func(t *testing.T) {
		f := parse("user-agent: ExampleBot\n" +
			"disallow: /foo\n" +
			"disallow: /bar\n" +
			"\n" +
			"user-agent: ExampleBot\n" +
			"disallow: /baz\n")
		checkDisallowed(t, f, "ExampleBot", "/foo /bar /baz")
		checkAllowed(t, f, "ExampleBot", "/qux")
	})
	t.Run("the group for * applies to robots without a group", func(t *testing.T) {
		f := parse("user-agent: *\n" +
			"disallow: /a\n" +
			"\n" +
			"user-agent: BarBot\n" +
			"disallow: /b\n" +
			"\n" +
			"user-agent: *\n" +
			"disallow: /c\n")
		checkDisallowed(t, f, "FooBot", "/a /c")
		checkAllowed(t, f, "FooBot", "/b")
		checkDisallowed(t, f, "BarBot", "/b")
		checkAllowed(t, f, "BarBot", "/a /c")
	})
	t.Run("a robot without a group has no rules", func(t *testing.T) {
		f := parse("user-agent: BarBot\ndisallow: /\n")
		checkAllowed(t, f, "FooBot", "/ /x")
	})
}

func TestRFC9309_2_2_2_AllowAndDisallow(t *testing.T) {
	t.Run("the longest match decides", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: /a/b\nallow: /a\ndisallow: /\nallow: /a/b/c\n")
		checkDisallowed(t, f, "x", "/ /z /a/b /a/b/d")
		checkAllowed(t, f, "x", "/a /a/c /a/b/c /a/b/c/d")
	})
	t.Run("Allow decides among equally long rules", func(t *testing.T) {
		f := parse("user-agent: *\nallow: /p\ndisallow: /p\ndisallow: /q\nallow: /q\n")
		checkAllowed(t, f, "x", "/p /q")
	})
	t.Run("a target that no rule matches is allowed", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: /p\n")
		checkAllowed(t, f, "x", "/ /o /P")
	})
	t.Run("matching begins at the first byte", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: /b*c\n")
		checkAllowed(t, f, "x", "/a/bc")
		checkDisallowed(t, f, "x", "/bc /b/x/c/d")
	})
	t.Run("robots.txt itself is allowed", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: /\ndisallow: /robots.txt\n")
		checkAllowed(t, f, "x", "/robots.txt https://example.com/robots.txt /robots.txt#top")
		checkAllowed(t, f, "x", "/robots%2Etxt /%72obots.txt")
		checkDisallowed(t, f, "x", "/robots.txt?x /robots.txt/ /a/robots.txt /robots%2txt")
	})
	// Each row of the RFC's table has a rule's path and a URI that are equal
	// after encoding.
	for _, row := range []struct{ path, uri string }{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz"},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"},
		{"/foo/bar/\u30c4", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz"},
	} {
		t.Run("encoding of "+row.path, func(t *testing.T) {
			f := parse("user-agent: *\ndisallow: " + row.path + "\n")
			checkDisallowed(t, f, "x", row.path+" "+row.uri)
			f = parse("user-agent: *\ndisallow: " + row.uri + "\n")
			checkDisallowed(t, f, "x", row.path+" "+row.uri)
		})
	}
	t.Run("escapes", func(t *testing.T) {
		for _, test := range []struct {
			pattern     string
			same, other string // targets that the pattern matches, and others; blanks separate them
		}{
			{"/~joe", "/~joe /%7Ejoe /%7ejoe", "/%257Ejoe"},
			{"/a%3cd", "/a%3Cd /a%3cd", "/a%3"},
			{"/a%2fb", "/a%2Fb /a%2fb", "/a/b"},
			{"/a/b", "/a/b /%61/b", "/a%2Fb"},
			{"/a%3Fb", "/a%3fb", "/a?b"},
			{"/a?b=/", "/a?b=/ /a?b=%2F /a?b=%2f", "/a%3Fb=/"},
			{"/a?b?c", "/a?b?c /a?b%3Fc", "/a%3Fb?c"},
			{"/*b=%2F", "/a?b=/ /a?b=%2F /ab=%2F", "/ab=/"},
			{"/*/c%2Fd", "/x/c%2Fd /?/c/d /?%2Fc%2Fd", "/x/c/d"},
			{"/*%3Fd", "/x%3Fd /x?y?d /x?y%3Fd", "/x?d"},
			{"/*%2F$", "/x%2F /?x/ /?%2F", "/x/"},
			{"/%23", "/%23", "/ /#"},
			// "%25" remains escaped, so it begins with the "%" of the pattern
			{
				pattern: "/100%",
				same:    "/100% /10%30% /100%25",
				other:   "/100 /100x",
			},
			{"/a b", "/a%20b", "/a+b /a"},
			{"/\xff", "/%FF /%ff /\xff", "/%C3%BF"},
		} {
			f := parse("user-agent: *\ndisallow: " + test.pattern + "\n")
			checkDisallowed(t, f, "x", test.same)
			checkAllowed(t, f, "x", test.other)
			if t.Failed() {
				t.Fatalf("the robots.txt of these failures has the pattern %q", test.pattern)
			}
		}
	})
}

func TestRFC9309_2_2_3_SpecialCharacters(t *testing.T) {
	t.Run("number sign", func(t *testing.T) {
		f := parse("user-agent: * # all\n#disallow: /\ndisallow: /a # comment\n")
		checkAllowed(t, f, "x", "/ /b")
		checkDisallowed(t, f, "x", "/a")
	})
	t.Run("dollar", func(t *testing.T) {
		f := parse("user-agent: *\nallow: /this/path/exactly$\ndisallow: /this\n")
		checkAllowed(t, f, "x", "/this/path/exactly")
		checkDisallowed(t, f, "x", "/this/path/exactly/ /this/path/exactly$ /this/path/exactly?x")
	})
	t.Run("star", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: /this/*/exactly\n")
		checkDisallowed(t, f, "x", "/this/path/exactly /this//exactly /this/a/b/exactly/c")
		checkAllowed(t, f, "x", "/this/exactly /that/path/exactly")
	})
	t.Run("escaped special characters", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: /path/file-with-a-%2A.html\ndisallow: /path/foo-%24\n")
		checkDisallowed(t, f, "x", "/path/file-with-a-*.html /path/file-with-a-%2A.html")
		checkDisallowed(t, f, "x", "/path/foo-$ /path/foo-%24 /path/foo-$x")
		checkAllowed(t, f, "x", "/path/file-with-a-x.html /path/foo-")
	})
}

func TestRFC9309_2_2_4_OtherRecords(t *testing.T) {
	for _, other := range []string{
		"Sitemap: https://example.com/s.xml",
		"Crawl-delay: 5",
		"Unknown: 1",
		"Host: example.com",
		"nonsense",
		"",
	} {
		f := parse("user-agent: one\n" + other + "\nuser-agent: two\ndisallow: /a\n" + other + "\ndisallow: /b\n")
		checkDisallowed(t, f, "one", "/a /b")
		checkDisallowed(t, f, "two", "/a /b")
		checkAllowed(t, f, "three", "/a /b")
	}
	got := parse("Sitemap: https://example.com/1.xml\n" +
		"user-agent: a\n" +
		"SITEMAP : 2 # two\n" +
		"disallow: /\n" +
		"sitemap:\n" +
		"sitemap: https://example.com/3.xml").Sitemaps()
	if want := []string{"https://example.com/1.xml", "2", "https://example.com/3.xml"}; !slices.Equal(got, want) {
		t.Errorf("Sitemaps() = %q, want %q", got, want)
	}
}

func TestRFC9309_2_3_1_5_ParsingErrors(t *testing.T) {
	for _, bad := range []string{
		"\x00\x01\x02", "\xff\xfe", "\xef\xbb\xbf",
		"<html><body>", "random words here",
		":", "::", ": /x", "= / =",
		"user-agent", "Disallow", "allow-from: /",
	} {
		f := parse(bad + "\nuser-agent: foo\n" + bad + "\ndisallow: /x\n" + bad + "\n")
		checkDisallowed(t, f, "foo", "/x")
		checkAllowed(t, f, "foo", "/y")
		if t.Failed() {
			t.Fatalf("the robots.txt of these failures has the bad line %q", bad)
		}
	}
}

func TestRFC9309_2_2_WhiteSpace(t *testing.T) {
	for _, robots := range []string{
		"user-agent\v \f*\ndisallow\f \v/x",
		"\x00 user-agent \v:\t* \ndisallow:\v\f/x\x00 \x00",
	} {
		f := parse(robots)
		checkDisallowed(t, f, "x", "/x")
		checkAllowed(t, f, "x", "/y")
	}
}

func TestRFC9309_2_5_Limits(t *testing.T) {
	// Parse reads MaxSize bytes of a file. In the first file, these bytes end
	// with the line of /last. In the second file, they also contain the first
	// byte of the next line.
	const head = "user-agent: *\n#"
	const last = "\ndisallow: /last\n"
	const cut = "disallow: /cut/short\n"
	fill := strings.Repeat("x", MaxSize-len(head)-len(last))
	f := parse(head + fill + last + cut)
	checkDisallowed(t, f, "x", "/last")
	checkAllowed(t, f, "x", "/cut/short /cut")
	f = parse(head + fill[1:] + last + cut)
	checkDisallowed(t, f, "x", "/last")
	checkAllowed(t, f, "x", "/cut/short /d")
	f = parse("user-agent: *\ndisallow: /" + strings.Repeat("x", 100_000) + "\ndisallow: /y\n")
	checkAllowed(t, f, "x", "/x")
	checkDisallowed(t, f, "x", "/y /"+strings.Repeat("x", 100_000))
}

func TestRFC9309_5_1_SimpleExample(t *testing.T) {
	f := parse(`User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF
`)
	checkDisallowed(t, f, "otherbot", "/a.gif /b/c.gif /example/ /example/page.html")
	checkAllowed(t, f, "otherbot", "/publications/ /publications/x /a.gif?x /b.png /")
	checkDisallowed(t, f, "foobot", "/ /publications/ /example/ /example/page")
	checkAllowed(t, f, "foobot", "/example/page.html /example/allowed.gif")
	checkDisallowed(t, f, "barbot", "/example/page.html")
	checkAllowed(t, f, "barbot", "/ /a.gif /example/")
	checkDisallowed(t, f, "bazbot", "/example/page.html")
	checkAllowed(t, f, "bazbot", "/ /a.gif /example/")
	checkAllowed(t, f, "quxbot", "/ /a.gif /example/page.html")
}

func TestRFC9309_5_2_LongestMatch(t *testing.T) {
	f := parse("User-Agent: foobot\n" +
		"Allow: /example/page/\n" +
		"Disallow: /example/page/disallowed.gif\n")
	checkDisallowed(t, f, "foobot", "https://www.example.com/example/page/disallowed.gif")
	checkAllowed(t, f, "foobot", "/example/page/ /example/page/allowed.gif")
}
