package robotstxt

import (
	"slices"
	"strings"
	"testing"
)

// A verdict is whether a robot may fetch some targets. Blanks separate the
// targets.
type verdict struct {
	token   string
	allowed bool
	targets string
}

func checkVerdicts(t *testing.T, f *File, verdicts []verdict) {
	t.Helper()
	for _, v := range verdicts {
		for target := range strings.FieldsSeq(v.targets) {
			if m := f.Rules(v.token).Match(target); m.Allowed != v.allowed {
				t.Errorf("token %q, target %q: %+v, want allowed %t", v.token, target, m, v.allowed)
			}
		}
	}
}

func parse(robots string) *File { return Parse([]byte(robots)) }

func TestRFC9309_2_2_1_UserAgentLine(t *testing.T) {
	t.Run("the token is compared without regard to case", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: EXAMPLEbot\ndisallow: /foo\n"), []verdict{
			{
				token:   "ExampleBot",
				targets: "/foo",
			}, {"examplebot", false, "/foo"}, {"exampleBOT", false, "/foo"},
		})
	})
	t.Run("the token is a part of the line, not the line a part of the token", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: Bot\ndisallow: /\n\nuser-agent: ExampleBotImages\ndisallow: /\n"), []verdict{
			{"ExampleBot", true, "/foo"},
		})
	})
	t.Run("groups for one token are one group", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n"), []verdict{
			{"ExampleBot", false, "/foo /bar /baz"}, {"ExampleBot", true, "/qux"},
		})
	})
	t.Run("the star is for those without a group", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /a\n\nuser-agent: BarBot\ndisallow: /b\n\nuser-agent: *\ndisallow: /c\n"), []verdict{
			{
				token:   "FooBot",
				targets: "/a /c",
			}, {"FooBot", true, "/b"}, {"BarBot", false, "/b"}, {"BarBot", true, "/a /c"},
		})
	})
	t.Run("without a group there are no rules", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: BarBot\ndisallow: /\n"), []verdict{{"FooBot", true, "/ /x"}})
	})
}

func TestRFC9309_2_2_2_AllowAndDisallow(t *testing.T) {
	t.Run("the most specific match counts", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /a/b\nallow: /a\ndisallow: /\nallow: /a/b/c\n"), []verdict{
			{"x", false, "/ /z /a/b /a/b/d"}, {"x", true, "/a /a/c /a/b/c /a/b/c/d"},
		})
	})
	t.Run("of equivalent rules Allow counts", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\nallow: /p\ndisallow: /p\ndisallow: /q\nallow: /q\n"), []verdict{{"x", true, "/p /q"}})
	})
	t.Run("no match allows", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /p\n"), []verdict{{"x", true, "/ /o /P"}})
	})
	t.Run("matching begins at the first byte", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /b*c\n"), []verdict{{"x", true, "/a/bc"}, {"x", false, "/bc /b/x/c/d"}})
	})
	t.Run("robots.txt itself is allowed", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /\ndisallow: /robots.txt\n"), []verdict{
			{
				token:   "x",
				allowed: true,
				targets: "/robots.txt https://example.com/robots.txt /robots.txt#top /robots%2Etxt /%72obots.txt",
			},
			{"x", false, "/robots.txt?x /robots.txt/ /a/robots.txt /robots%2txt"},
		})
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
			checkVerdicts(t, parse("user-agent: *\ndisallow: "+row.path+"\n"), []verdict{{"x", false, row.path + " " + row.uri}})
			checkVerdicts(t, parse("user-agent: *\ndisallow: "+row.uri+"\n"), []verdict{{"x", false, row.path + " " + row.uri}})
		})
	}
	t.Run("escapes", func(t *testing.T) {
		for _, test := range []struct {
			pattern, same, other string
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
			// "%25" stays escaped, so it begins with the pattern's "%"
			{
				pattern: "/100%",
				same:    "/100% /10%30% /100%25",
				other:   "/100 /100x",
			},
			{"/a b", "/a%20b", "/a+b /a"},
			{"/\xff", "/%FF /%ff /\xff", "/%C3%BF"},
		} {
			f := parse("user-agent: *\ndisallow: " + test.pattern + "\n")
			checkVerdicts(t, f, []verdict{{"x", false, test.same}, {"x", true, test.other}})
			if t.Failed() {
				t.Fatalf("pattern %q", test.pattern)
			}
		}
	})
}

func TestRFC9309_2_2_3_SpecialCharacters(t *testing.T) {
	t.Run("number sign", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: * # all\n#disallow: /\ndisallow: /a # comment\n"), []verdict{{"x", true, "/ /b"}, {"x", false, "/a"}})
	})
	t.Run("dollar", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\nallow: /this/path/exactly$\ndisallow: /this\n"), []verdict{
			{
				token:   "x",
				allowed: true,
				targets: "/this/path/exactly",
			}, {"x", false, "/this/path/exactly/ /this/path/exactly$ /this/path/exactly?x"},
		})
	})
	t.Run("star", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /this/*/exactly\n"), []verdict{
			{
				token:   "x",
				targets: "/this/path/exactly /this//exactly /this/a/b/exactly/c",
			}, {"x", true, "/this/exactly /that/path/exactly"},
		})
	})
	t.Run("literally, by escapes", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: /path/file-with-a-%2A.html\ndisallow: /path/foo-%24\n"), []verdict{
			{
				token:   "x",
				targets: "/path/file-with-a-*.html /path/file-with-a-%2A.html /path/foo-$ /path/foo-%24 /path/foo-$x",
			},
			{"x", true, "/path/file-with-a-x.html /path/foo-"},
		})
	})
}

func TestRFC9309_2_2_4_OtherRecords(t *testing.T) {
	for _, other := range []string{"Sitemap: https://example.com/s.xml", "Crawl-delay: 5", "Unknown: 1", "Host: example.com", "nonsense", ""} {
		checkVerdicts(t, parse("user-agent: one\n"+other+"\nuser-agent: two\ndisallow: /a\n"+other+"\ndisallow: /b\n"), []verdict{
			{"one", false, "/a /b"}, {"two", false, "/a /b"}, {"three", true, "/a /b"},
		})
	}
	got := parse("Sitemap: https://example.com/1.xml\nuser-agent: a\nSITEMAP : 2 # two\ndisallow: /\nsitemap:\nsitemap: https://example.com/3.xml").Sitemaps()
	if want := []string{"https://example.com/1.xml", "2", "https://example.com/3.xml"}; !slices.Equal(got, want) {
		t.Errorf("sitemaps %q, want %q", got, want)
	}
}

func TestRFC9309_2_3_1_5_ParsingErrors(t *testing.T) {
	for _, bad := range []string{"\x00\x01\x02", "<html><body>", "random words here", ":", "::", ": /x", "user-agent", "= / =", "Disallow", "\xff\xfe", "allow-from: /", "\xef\xbb\xbf"} {
		f := parse(bad + "\nuser-agent: foo\n" + bad + "\ndisallow: /x\n" + bad + "\n")
		checkVerdicts(t, f, []verdict{{"foo", false, "/x"}, {"foo", true, "/y"}})
		if t.Failed() {
			t.Fatalf("bad line %q", bad)
		}
	}
}

func TestRFC9309_2_2_WhiteSpace(t *testing.T) {
	for _, robots := range []string{"user-agent\v \f*\ndisallow\f \v/x", "\x00 user-agent \v:\t* \ndisallow:\v\f/x\x00 \x00"} {
		checkVerdicts(t, parse(robots), []verdict{{"x", false, "/x"}, {"x", true, "/y"}})
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
	checkVerdicts(t, f, []verdict{{"x", false, "/last"}, {"x", true, "/cut/short /cut"}})
	f = parse(head + fill[1:] + last + cut)
	checkVerdicts(t, f, []verdict{{"x", false, "/last"}, {"x", true, "/cut/short /d"}})
	checkVerdicts(t, parse("user-agent: *\ndisallow: /"+strings.Repeat("x", 100_000)+"\ndisallow: /y\n"), []verdict{
		{"x", true, "/x"}, {"x", false, "/y /" + strings.Repeat("x", 100_000)},
	})
}

func TestRFC9309_5_1_SimpleExample(t *testing.T) {
	checkVerdicts(t, parse(`User-Agent: *
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
`), []verdict{
		{"otherbot", false, "/a.gif /b/c.gif /example/ /example/page.html"},
		{"otherbot", true, "/publications/ /publications/x /a.gif?x /b.png /"},
		{"foobot", false, "/ /publications/ /example/ /example/page"},
		{"foobot", true, "/example/page.html /example/allowed.gif"},
		{"barbot", false, "/example/page.html"}, {"barbot", true, "/ /a.gif /example/"},
		{"bazbot", false, "/example/page.html"}, {"bazbot", true, "/ /a.gif /example/"},
		{"quxbot", true, "/ /a.gif /example/page.html"},
	})
}

func TestRFC9309_5_2_LongestMatch(t *testing.T) {
	checkVerdicts(t, parse("User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"), []verdict{
		{
			token:   "foobot",
			targets: "https://www.example.com/example/page/disallowed.gif",
		}, {"foobot", true, "/example/page/ /example/page/allowed.gif"},
	})
}
