package robotstxt

import "testing"

// Google's documentation of robots.txt has tables of its crawlers' behavior.
// These tests check the tables about the content of a file. The tables about
// its origin and status are tested in the packages that fetch files.

// TestGoogleTable_File checks the section "File format".
func TestGoogleTable_File(t *testing.T) {
	t.Run("byte order marks, blanks, comments and line ends", func(t *testing.T) {
		for _, robots := range []string{
			"\xef\xbb\xbfuser-agent: *\ndisallow: /a\n",
			"\xef\xbbuser-agent: *\ndisallow: /a\n",
			"user-agent: *\rdisallow: /a\r",
			"user-agent: *\r\ndisallow: /a\r\n",
			"  user-agent  :  *  # comment\n\t disallow\t:\t/a\t#comment",
			"<html>\nuser-agent: *\ndisallow: /a\n</html>",
			"user-agent: *\ndisallow: /a#comment\n",
		} {
			f := parse(robots)
			checkDisallowed(t, f, "x", "/a")
			checkAllowed(t, f, "x", "/ /b")
		}
	})
	t.Run("a rule without a path is ignored", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow:\nallow:\ndisallow: /a\n")
		checkDisallowed(t, f, "x", "/a")
		checkAllowed(t, f, "x", "/")
	})
	t.Run("a path begins with a slash and is case-sensitive", func(t *testing.T) {
		f := parse("user-agent: *\ndisallow: a\ndisallow: /b\n")
		checkDisallowed(t, f, "x", "/b")
		checkAllowed(t, f, "x", "/a /B")
	})
}

func TestGoogleTable_Groups(t *testing.T) {
	f := parse("user-agent: a\n" +
		"disallow: /c\n" +
		"\n" +
		"user-agent: b\n" +
		"disallow: /d\n" +
		"\n" +
		"user-agent: e\n" +
		"user-agent: f\n" +
		"disallow: /g\n" +
		"\n" +
		"user-agent: h\n")
	checkDisallowed(t, f, "a", "/c")
	checkAllowed(t, f, "a", "/d /g")
	checkDisallowed(t, f, "b", "/d")
	checkAllowed(t, f, "b", "/c /g")
	checkDisallowed(t, f, "e", "/g")
	checkAllowed(t, f, "e", "/c /d")
	checkDisallowed(t, f, "f", "/g")
	checkAllowed(t, f, "f", "/c /d")
	checkAllowed(t, f, "h", "/c /d /g")
	f = parse("user-agent: googlebot-news\n" +
		"disallow: /fish\n" +
		"\n" +
		"user-agent: *\n" +
		"disallow: /carrots\n" +
		"\n" +
		"user-agent: googlebot-news\n" +
		"disallow: /shrimp\n")
	checkDisallowed(t, f, "googlebot-news", "/fish /shrimp")
	checkAllowed(t, f, "googlebot-news", "/carrots")
	checkDisallowed(t, f, "x", "/carrots")
	checkAllowed(t, f, "x", "/fish /shrimp")
	f = parse("user-agent: a\n" +
		"sitemap: https://example.com/sitemap.xml\n" +
		"\n" +
		"user-agent: b\n" +
		"disallow: /\n")
	checkDisallowed(t, f, "a", "/")
	checkDisallowed(t, f, "b", "/")
}

func TestGoogleTable_WhichGroup(t *testing.T) {
	f := parse("user-agent: googlebot-news\n" +
		"disallow: /1\n" +
		"\n" +
		"user-agent: *\n" +
		"disallow: /2\n" +
		"\n" +
		"user-agent: googlebot\n" +
		"disallow: /3\n")
	checkDisallowed(t, f, "Googlebot-News", "/1")
	checkAllowed(t, f, "Googlebot-News", "/2 /3")
	checkDisallowed(t, f, "Googlebot", "/3")
	checkAllowed(t, f, "Googlebot", "/1 /2")
	checkDisallowed(t, f, "Storebot-Google", "/2")
	checkAllowed(t, f, "Storebot-Google", "/1 /3")
	checkDisallowed(t, f, "Otherbot", "/2")
	checkAllowed(t, f, "Otherbot", "/1 /3")
	for _, value := range []string{"googlebot/1.2", "googlebot*"} {
		f := parse("user-agent: *\ndisallow: /\n\nuser-agent: " + value + "\ndisallow: /a\n")
		checkDisallowed(t, f, "googlebot", "/a")
		checkAllowed(t, f, "googlebot", "/b")
	}
}

func TestGoogleTable_Paths(t *testing.T) {
	for _, test := range []struct {
		pattern         string
		matches, others string // targets that the pattern matches, and others; blanks separate them
	}{
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
			matches: "/index.php /filename.php /folder/filename.php /folder/filename.php?parameters " +
				"/folder/any.php.file.html /filename.php/",
			others: "/ /windows.PHP",
		},
		{
			pattern: "/*.php$",
			matches: "/filename.php /folder/filename.php",
			others:  "/filename.php?parameters /filename.php/ /filename.php5 /windows.PHP",
		},
		{"/fish*.php", "/fish.php /fishheads/catfish.php?parameters", "/Fish.PHP"},
	} {
		t.Run(test.pattern, func(t *testing.T) {
			f := parse("user-agent: *\ndisallow: " + test.pattern + "\n")
			checkDisallowed(t, f, "x", test.matches)
			checkAllowed(t, f, "x", test.others)
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
			f := parse("user-agent: *\nallow: " + test.allow + "\ndisallow: " + test.disallow + "\n")
			checkAccess(t, f, "x", test.allowed, test.target)
		})
	}
}
