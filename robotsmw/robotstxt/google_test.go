package robotstxt

import "testing"

// Google's documentation of robots.txt has tables of its crawlers' behavior.
// These tests check the tables about the content of a file. The tables about
// its origin and status are tested in the packages that fetch files.

// TestGoogleTable_File checks the section "File format".
func TestGoogleTable_File(t *testing.T) {
	t.Run("BOM, blanks, comments and line ends", func(t *testing.T) {
		for _, robots := range []string{
			"\xef\xbb\xbfuser-agent: *\ndisallow: /a\n",
			"\xef\xbbuser-agent: *\ndisallow: /a\n",
			"user-agent: *\rdisallow: /a\r",
			"user-agent: *\r\ndisallow: /a\r\n",
			"  user-agent  :  *  # comment\n\t disallow\t:\t/a\t#comment",
			"<html>\nuser-agent: *\ndisallow: /a\n</html>",
			"user-agent: *\ndisallow: /a#comment\n",
		} {
			checkVerdicts(t, parse(robots), []verdict{{"x", false, "/a"}, {"x", true, "/ /b"}})
		}
	})
	t.Run("a rule without a path is ignored", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow:\nallow:\ndisallow: /a\n"), []verdict{{"x", false, "/a"}, {"x", true, "/"}})
	})
	t.Run("a path begins with a slash and is case-sensitive", func(t *testing.T) {
		checkVerdicts(t, parse("user-agent: *\ndisallow: a\ndisallow: /b\n"), []verdict{{"x", false, "/b"}, {"x", true, "/a /B"}})
	})
}

func TestGoogleTable_Groups(t *testing.T) {
	f := parse("user-agent: a\ndisallow: /c\n\nuser-agent: b\ndisallow: /d\n\nuser-agent: e\nuser-agent: f\ndisallow: /g\n\nuser-agent: h\n")
	checkVerdicts(t, f, []verdict{
		{"a", false, "/c"}, {"a", true, "/d /g"}, {"b", false, "/d"}, {"b", true, "/c /g"},
		{
			token:   "e",
			targets: "/g",
		}, {"e", true, "/c /d"}, {"f", false, "/g"}, {"f", true, "/c /d"}, {"h", true, "/c /d /g"},
	})
	f = parse("user-agent: googlebot-news\ndisallow: /fish\n\nuser-agent: *\ndisallow: /carrots\n\nuser-agent: googlebot-news\ndisallow: /shrimp\n")
	checkVerdicts(t, f, []verdict{{"googlebot-news", false, "/fish /shrimp"}, {"googlebot-news", true, "/carrots"}, {"x", false, "/carrots"}, {"x", true, "/fish /shrimp"}})
	f = parse("user-agent: a\nsitemap: https://example.com/sitemap.xml\n\nuser-agent: b\ndisallow: /\n")
	checkVerdicts(t, f, []verdict{{"a", false, "/"}, {"b", false, "/"}})
}

func TestGoogleTable_WhichGroup(t *testing.T) {
	f := parse("user-agent: googlebot-news\ndisallow: /1\n\nuser-agent: *\ndisallow: /2\n\nuser-agent: googlebot\ndisallow: /3\n")
	checkVerdicts(t, f, []verdict{
		{"Googlebot-News", false, "/1"}, {"Googlebot-News", true, "/2 /3"},
		{"Googlebot", false, "/3"}, {"Googlebot", true, "/1 /2"},
		{"Storebot-Google", false, "/2"}, {"Storebot-Google", true, "/1 /3"},
		{"Otherbot", false, "/2"}, {"Otherbot", true, "/1 /3"},
	})
	for _, value := range []string{"googlebot/1.2", "googlebot*"} {
		f := parse("user-agent: *\ndisallow: /\n\nuser-agent: " + value + "\ndisallow: /a\n")
		checkVerdicts(t, f, []verdict{{"googlebot", false, "/a"}, {"googlebot", true, "/b"}})
	}
}

func TestGoogleTable_Paths(t *testing.T) {
	for _, test := range []struct{ pattern, matches, others string }{
		{"/", "/ /a /a/b?c", ""},
		{"/*", "/ /a /a/b?c", ""},
		{"/$", "/", "/a /?a"},
		{
			pattern: "/fish",
			matches: "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.php?id=anything",
			others:  "/Fish.asp /catfish /?id=fish /desert/fish",
		},
		{
			pattern: "/fish*",
			matches: "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.php?id=anything",
			others:  "/Fish.asp /catfish /?id=fish /desert/fish",
		},
		{
			pattern: "/fish/",
			matches: "/fish/ /fish/?id=anything /fish/salmon.htm",
			others:  "/fish /fish.html /animals/fish/ /Fish/Salmon.asp",
		},
		{
			pattern: "/*.php",
			matches: "/index.php /filename.php /folder/filename.php /folder/filename.php?parameters /folder/any.php.file.html /filename.php/",
			others:  "/ /windows.PHP",
		},
		{
			pattern: "/*.php$",
			matches: "/filename.php /folder/filename.php",
			others:  "/filename.php?parameters /filename.php/ /filename.php5 /windows.PHP",
		},
		{"/fish*.php", "/fish.php /fishheads/catfish.php?parameters", "/Fish.PHP"},
	} {
		t.Run(test.pattern, func(t *testing.T) {
			checkVerdicts(t, parse("user-agent: *\ndisallow: "+test.pattern+"\n"), []verdict{{"x", false, test.matches}, {"x", true, test.others}})
		})
	}
}

func TestGoogleTable_WhichRule(t *testing.T) {
	for _, test := range []struct {
		target, allow, disallow string
		allowed                 bool
	}{
		{"/page", "/p", "/", true},
		{"/folder/page", "/folder", "/folder", true},
		{"/page.htm", "/page", "/*.htm", false},
		{"/page.php5", "/page", "/*.ph", true},
		{"/", "/$", "/", true},
		{"/page.htm", "/$", "/", false},
	} {
		t.Run(test.target, func(t *testing.T) {
			checkVerdicts(t, parse("user-agent: *\nallow: "+test.allow+"\ndisallow: "+test.disallow+"\n"), []verdict{{"x", test.allowed, test.target}})
		})
	}
}
