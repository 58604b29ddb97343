package lint

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// lintTests has files with problems, at least one file for each code. The other
// fields of a row describe the first problem with that code.
var lintTests = []struct {
	code     string
	robots   string
	severity Severity
	line     int
	column   int
	fix      string
}{
	// The file as a whole.
	{
		code:     codeTooLarge,
		robots:   "user-agent: *\ndisallow: /a\n#" + strings.Repeat("x", syntax.MaxSize) + "\ndisallow: /b\n",
		severity: Error,
	},
	{codeHTML, "<!DOCTYPE html>\n<html><title>Welcome</title>", Error, 1, 1, ""},
	{codeHTML, "<html><title>Log in</title><script>onerror = null</script>", Error, 1, 1, ""},
	{codeHTML, "<!-- a -->\n<!-- b --><div>Welcome</div>", Error, 1, 1, ""},
	{codeHTML, "<!-- the end of the comment is not here", Error, 1, 1, ""},
	{
		code:     codeHTMLError,
		robots:   "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>",
		severity: Error,
		line:     1,
		column:   1,
	},
	{codeHTMLError, "\n<html><title>404 Not Found</title>", Error, 1, 1, ""},
	{codeBinary, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01", Error, 1, 1, ""},
	// compressed bytes, converted to UTF-8
	{
		code:     codeBinary,
		robots:   "Rwd=rI6" + strings.Repeat("\ufffd\ufffd,5\ufffdZ\u05d3h", 20),
		severity: Error,
		line:     1,
		column:   1,
	},
	{codeUTF16, "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00", Error, 1, 1, ""},
	{codeUTF16, "\x00U\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t", Error, 1, 1, ""},
	{codeBadUTF8, "user-agent: *\ndisallow: /caf\xe9\n", Warning, 2, 15, ""},
	{codeBOM, "\xef\xbb\xbfuser-agent: *\ndisallow: /a\n", Info, 1, 1, ""},
	{codeNUL, "user-agent: *\ndisallow: /a\x00b\n", Warning, 2, 13, ""},
	{codeNUL, "user-agent: *\ndisallow: /a\n" + strings.Repeat("\x00", 1000), Warning, 3, 1, ""},
	{codeCRLF, "user-agent: *\r\ndisallow: /a\r\n", Info, 0, 0, ""},
	{codeBareCR, "user-agent: *\rdisallow: /a\r", Warning, 0, 0, ""},
	{codeMixedLineEnds, "user-agent: *\r\ndisallow: /a\n", Warning, 0, 0, ""},
	{codeAllCapitals, "USER-AGENT: *\nDISALLOW: /TMP/\n", Warning, 0, 0, ""},
	{codeTooMany, strings.Repeat("nonsense\n", 1001), Warning, 0, 0, ""},

	// Lines.
	{codeNotAField, "user-agent: *\nplease go away\ndisallow: /a\n", Warning, 2, 1, ""},
	{codeMissingColon, "user-agent: *\nDisallow /a\n", Warning, 2, 9, "Disallow: /a"},
	{codeMissingColon, "user-agent: *\nDisallow; /a\n", Warning, 2, 10, "Disallow: /a"},
	{
		code:     codeMissingColon,
		robots:   "user-agent: *\nDisallow https://example.com/a\n",
		severity: Warning,
		line:     2,
		column:   9,
		fix:      "Disallow: /a",
	},
	{codeMissingColon, "user-agent: *\nallow HTTP://example.com\n", Warning, 2, 6, ""},
	{codeMisspelledField, "user-agent: *\nDissallow: /a\n", Warning, 2, 1, "Disallow: /a"},
	{
		code:     codeMisspelledField,
		robots:   "\u00ef\u00bb\u00bfUser-agent: *\ndisallow: /a\n",
		severity: Warning,
		line:     1,
		column:   1,
		fix:      "User-agent: *",
	},
	{
		code:     codeMisspelledField,
		robots:   "user-agent: *\ndisallow: /a\n\ufeffSitemap: https://example.com/s.xml\n",
		severity: Warning,
		line:     3,
		column:   1,
		fix:      "Sitemap: https://example.com/s.xml",
	},
	{codeMisspelledField, "Useragent: *\ndisallow: /a\n", Warning, 1, 1, "User-agent: *"},
	{codeMisspelledField, "user-agent: *\ndisallow: /\nAllowed: /a\n", Warning, 3, 1, "Allow: /a"},
	{
		code:     codeMisspelledField,
		robots:   "user-agent: *\ndisallow: /a\nSite-map: https://example.com/s.xml\n",
		severity: Warning,
		line:     3,
		column:   1,
		fix:      "Sitemap: https://example.com/s.xml",
	},
	{codeUnknownField, "user-agent: *\ndisallow: /a\nMood: bright\n", Warning, 3, 1, ""},
	{codeUnknownField, "user-agent: *\ndisallow: /a\n\u00e9: bright\n", Warning, 3, 1, ""},
	{codeWithdrawnField, "user-agent: *\ndisallow: /a\nnoindex: /b\n", Warning, 3, 1, ""},
	{codeWithdrawnField, "user-agent: *\ndisallow: /a\nnofollow: /b\n", Warning, 3, 1, ""},
	{codeWithdrawnField, "user-agent: *\ndisallow: /a\nhost: a.example\n", Info, 3, 1, ""},
	{codeWithdrawnField, "user-agent: *\ndisallow: /a\nrequest-rate: 1/5\n", Info, 3, 1, ""},
	{codeWithdrawnField, "user-agent: *\ndisallow: /a\nvisit-time: 0600-0845\n", Info, 3, 1, ""},
	{codeWithdrawnField, "robot-version: 2.0\nuser-agent: *\ndisallow: /a\n", Info, 1, 1, ""},
	{codeWithdrawnField, "user-agent: *\ndisallow: /a\ncache-delay: 10\n", Info, 3, 1, ""},
	{codeKeywords, "keywords: cheap, shoes\nuser-agent: *\ndisallow: /a\n", Warning, 1, 1, ""},
	{codeLeadingBlanks, "user-agent: *\n  disallow: /a\n", Info, 2, 1, "disallow: /a"},
	{codeGluedComment, "user-agent: *\ndisallow: /a#b\n", Warning, 2, 13, "disallow: /a #b"},
	{
		code:     codeSeveralPaths,
		robots:   "user-agent: *\nDisallow: /css/ /cgi-bin/\n",
		severity: Error,
		line:     2,
		column:   16,
		fix:      "Disallow: /css/\nDisallow: /cgi-bin/",
	},
	{codeSeveralPaths, "user-agent: *\nDisallow: /a/http: /\n", Error, 2, 19, ""},
	{codeSeveralPaths, "user-agent: *\nDisallow: /a /\n", Error, 2, 13, ""},
	{codeRunTogether, "user-agent: *\nDisallow: /calendar//monthly.html\n", Warning, 2, 20, ""},
	{
		code:     codeRunTogether,
		robots:   "user-agent: *\nDisallow: /css//cgi-bin/\n",
		severity: Warning,
		line:     2,
		column:   15,
		fix:      "Disallow: /css/\nDisallow: /cgi-bin/",
	},
	{codeURL, "user-agent: *\nDisallow: https://example.com/tmp\n", Error, 2, 11, "Disallow: /tmp"},
	{codeNoLeadingSlash, "user-agent: *\nDisallow: tmp/\n", Error, 2, 11, "Disallow: /tmp/"},
	{codeNoLeadingSlash, "user-agent: *\nDisallow: ?id=\n", Error, 2, 11, "Disallow: /?id="},
	{codeNoLeadingSlash, "user-agent: *\nAllow: .css\n", Error, 2, 8, ""},
	{codeNoLeadingSlash, "user-agent: *\nDisallow: Disallow: /a\n", Error, 2, 11, ""},
	{codeNoLeadingSlash, "user-agent: *\nDisallow: \u00a0/a\n", Error, 2, 11, ""},
	{
		code:     codeReversed,
		robots:   "User-agent: *\nDisallow: scooter\n",
		severity: Error,
		line:     2,
		column:   11,
		fix:      "User-agent: scooter\nDisallow: /",
	},
	{codeReversed, "User-agent: /tmp\nDisallow: *\n", Error, 1, 13, "Disallow: /tmp"},
	{codeDollarInMiddle, "user-agent: *\ndisallow: /*.php$/\n", Warning, 2, 17, ""},
	{codeTrailingStar, "user-agent: *\ndisallow: /tmp/*\n", Info, 2, 16, "disallow: /tmp/"},
	// the rule would be shorter than /ab
	{
		code:     codeTrailingStar,
		robots:   "user-agent: *\nallow: /a*\ndisallow: /ab\n",
		severity: Info,
		line:     2,
		column:   10,
	},
	{
		code:     codeAgentForm,
		robots:   "user-agent: ExampleBot/1.0\ndisallow: /a\n",
		severity: Warning,
		line:     1,
		column:   23,
		fix:      "User-agent: ExampleBot",
	},
	{codeAgentForm, "user-agent: Example Bot\ndisallow: /a\n", Warning, 1, 20, ""},
	{
		code:     codeAgentForm,
		robots:   "user-agent: Example (+https://example.com/)\ndisallow: /a\n",
		severity: Warning,
		line:     1,
		column:   20,
		fix:      "User-agent: Example",
	},
	{codeAgentForm, "user-agent: Example/1.0 Disallow: /\ndisallow: /a\n", Warning, 1, 20, ""},
	{
		code:     codeAgentForm,
		robots:   "user-agent: Mozilla/4.0 (compatible; ExampleBot)\ndisallow: /a\n",
		severity: Warning,
		line:     1,
		column:   20,
	},
	{codeAgentForm, "user-agent: https://example.com/bot\ndisallow: /a\n", Warning, 1, 18, ""},
	{codeAgentForm, "user-agent: Example*\ndisallow: /a\n", Warning, 1, 20, "User-agent: Example"},
	{codeAgentForm, "user-agent: * all of you\ndisallow: /a\n", Warning, 1, 13, "User-agent: *"},
	{codeAgentForm, "user-agent:\ndisallow: /a\n", Error, 1, 12, "User-agent: *"},
	{codeRelativeSitemap, "sitemap: /sitemap.xml\n", Warning, 1, 10, ""},
	{codeCrawlDelayValue, "user-agent: *\ncrawl-delay: 1e3\ndisallow: /a\n", Warning, 2, 14, ""},
	{codeCrawlDelayLong, "user-agent: *\ncrawl-delay: 86400\ndisallow: /a\n", Warning, 2, 14, ""},

	// Groups, and rules compared with each other.
	{codeRuleOutside, "disallow: /a\nuser-agent: *\ndisallow: /b\n", Error, 1, 1, ""},
	{
		code:     codeGroupWithoutRules,
		robots:   "user-agent: *\ndisallow: /a\n\nuser-agent: ExampleBot\n",
		severity: Warning,
		line:     4,
		column:   1,
	},
	{
		code:     codeMergedGroups,
		robots:   "user-agent: slowbot\ncrawl-delay: 10\nuser-agent: badbot\ndisallow: /\n",
		severity: Warning,
		line:     3,
		column:   1,
	},
	{
		code: codeMergedGroups,
		robots: "user-agent: a\n" +
			"sitemap: https://example.com/s.xml\n" +
			"\n" +
			"user-agent: b\n" +
			"disallow: /\n",
		severity: Warning,
		line:     4,
		column:   1,
	},
	{
		code:     codeRepeatedAgent,
		robots:   "user-agent: a\ndisallow: /x\n\nuser-agent: A\ndisallow: /y\n",
		severity: Warning,
		line:     4,
		column:   1,
	},
	{codeAllShut, "user-agent: *\ndisallow: /\n", Info, 2, 1, ""},
	{codeAllShut, "user-agent: a\ndisallow: /b\n\nuser-agent: *\ndisallow: *\n", Info, 5, 1, ""},
	{
		code:     codeNamedExempt,
		robots:   "user-agent: *\ndisallow: /\n\nuser-agent: goodbot\ndisallow:\n",
		severity: Info,
		line:     4,
		column:   1,
	},
	{
		code:     codeNamedShut,
		robots:   "user-agent: *\ndisallow: /tmp\n\nuser-agent: badbot\ndisallow: /\n",
		severity: Info,
		line:     4,
		column:   1,
	},
	{codeDuplicate, "user-agent: *\ndisallow: /~a\ndisallow: /%7Ea\n", Warning, 3, 1, ""},
	{codeOverridden, "user-agent: *\ndisallow: /a\nallow: /a\n", Warning, 2, 1, ""},
	{codeOverridden, "user-agent: *\nallow: /a\ndisallow: /a*\n", Warning, 2, 1, ""},
	{codeAllowLoses, "user-agent: *\nallow: /b.htm\ndisallow: /*b.htm$\n", Warning, 2, 1, ""},
	{codeAllowWins, "user-agent: *\ndisallow: /a.html\nallow: /*.html$\n", Warning, 2, 1, ""},
}

// TestCheck_Codes checks the first problem with the code of each row.
func TestCheck_Codes(t *testing.T) {
	for _, test := range lintTests {
		name := strings.ReplaceAll(test.robots, "\n", "|")
		t.Run(test.code+"/"+name[:min(len(name), 40)], func(t *testing.T) {
			for _, p := range Check([]byte(test.robots)) {
				if p.Code != test.code {
					continue
				}
				want := Problem{
					Line:     test.line,
					Column:   test.column,
					Code:     test.code,
					Severity: test.severity,
					Message:  p.Message,
					Fix:      test.fix,
				}
				if p != want {
					t.Errorf("Check returns %+v, want %+v", p, want)
				}
				if p.Message == "" {
					t.Error("the problem has no message, want one")
				}
				return
			}
			t.Errorf("Check returns %v, want a problem with the code %s",
				Check([]byte(test.robots)), test.code)
		})
	}
}

// TestLintCleanFiles checks that files without mistakes have only problems of
// severity Info.
func TestLintCleanFiles(t *testing.T) {
	for _, robots := range []string{
		"",
		"\n\n# nothing here\n",
		"User-agent: *\nDisallow:\n",
		"User-agent: *\nDisallow: /\n",
		"# all of it\n" +
			"User-agent: *\n" +
			"Disallow: /tmp/\n" +
			"Allow: /tmp/public/ # but this\n" +
			"\n" +
			"User-agent: MJ12bot\n" +
			"User-agent: archive.org_bot\n" +
			"Crawl-delay: 0.5\n" +
			"Disallow: /\n" +
			"\n" +
			"Sitemap: https://example.com/sitemap.xml\n",
		"User-agent: *\n" +
			"Disallow: /*.gif$\n" +
			"Disallow: *.jpg$\n" +
			"Disallow: /*?sort=\n" +
			"Allow: /page\n" +
			"Disallow: /*.html\n" +
			"Allow: /page.html\n",
		"user-agent: *\nallow: /\ndisallow: /a\ncontent-signal: search=yes, ai-train=no\n",
		"User-agent: *\nDisallow: /\nAllow: /$\nAllow: /a/\nDisallow: /a/$\n",
		"User-agent: slowbot\nCrawl-delay: 10\n",
		"User-agent: *\nDisallow: /\n\nUser-agent: goodbot\nDisallow: /private\n",
		"User-agent: *\n" +
			"Disallow: /http://\n" +
			"Disallow: /a/https://b\n" +
			"Disallow: //\n" +
			"Disallow: //*\n" +
			"Disallow: /a////b\n" +
			"Disallow: /*//*\n" +
			"Disallow: /*//$\n",
		"User-agent: *\n" +
			"Disallow: /a/*\n" +
			"Allow: /a/$\n" +
			"Disallow: /b*\n" +
			"Allow: /b$\n" +
			"Disallow: /odata/$metadata\n",
		"User-agent: *\nDisallow: /a/\u00a0 \u00a0\n",
		"User-agent: *\r\nDisallow: /caf%C3%A9\r\nDisallow: /caf\u00e9/\r\n",
	} {
		for _, p := range Check([]byte(robots)) {
			if p.Severity != Info {
				t.Errorf("Check(%q) returns %q, want only problems of severity Info", robots, p)
			}
		}
	}
}

// TestCheck_DisallowedRobots checks which robots are reported as disallowed.
// Robots compare only the first of two names in one line, so only that name is
// reported. A group that allows some path does not disallow the whole site.
func TestCheck_DisallowedRobots(t *testing.T) {
	for text, want := range map[string]string{
		"user-agent: *\n" +
			"disallow: /a\n" +
			"\n" +
			"user-agent: GPTBot CCBot\n" +
			"disallow: /\n": "robots are allowed, but GPTBot is disallowed",
		"user-agent: *\ndisallow: /\nallow: /a\n": "",
		"user-agent: GPTBot\ndisallow: /\n":       "",
	} {
		var got []string
		for _, p := range Check([]byte(text)) {
			if p.Code == codeAllShut || p.Code == codeNamedShut {
				got = append(got, p.Message)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("Check(%q) returns the messages %q, want %q", text, got, want)
		}
	}
}

// TestCheck_Binary checks that random bytes are recognized as binary.
func TestCheck_Binary(t *testing.T) {
	for seed := range uint64(200) {
		body := make([]byte, 3000)
		rand.NewChaCha8([32]byte{byte(seed)}).Read(body)
		if got := Check(body); len(got) != 1 || got[0].Code != codeBinary {
			t.Errorf("Check of random bytes (seed %d) returns %v, want the code %s",
				seed, got, codeBinary)
		}
	}
}

// TestCheck_RulesAfterMarkup checks that a file with rules is not regarded as a
// page or as binary data because of how it begins. All these beginnings are
// from real files, apart from the last.
func TestCheck_RulesAfterMarkup(t *testing.T) {
	for _, begin := range []string{
		"<!-- Allowed: Site is public -->\n",
		"<!-23-10-jsc-->",
		"<<<<<<< HEAD\n",
		"<br />\n<b>Warning</b>: a warning of PHP\n",
		"# \ufffd\ufffd\ufffd\n",
		"# \x1b[1m\n",
	} {
		for _, p := range Check([]byte(begin + "User-agent: *\nDisallow: /private/\n")) {
			if p.Code == codeHTML || p.Code == codeHTMLError || p.Code == codeBinary {
				t.Errorf("Check of a file that begins with %q returns %q, want no such problem",
					begin, p)
			}
		}
	}
}

var codeLine = regexp.MustCompile(`(?m)^\tcode\w+\s+= "([a-z0-9-]+)" +// (.+)$`)

// codes returns the codes of code.go with their descriptions.
func codes(tb testing.TB) map[string]string {
	tb.Helper()
	src, err := os.ReadFile("code.go")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range codeLine.FindAllStringSubmatch(string(src), -1) {
		all[m[1]] = m[2]
	}
	if len(all) < 40 {
		tb.Fatalf("found %d codes in code.go, want at least 40", len(all))
	}
	return all
}

func TestCodes_HaveTests(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range lintTests {
		tested[test.code] = true
	}
	for code := range codes(t) {
		if !tested[code] {
			t.Errorf("lintTests has no row for the code %s, want one", code)
		}
	}
}

// codeDoc matches a line of the package doc that lists a code.
var codeDoc = regexp.MustCompile(`(?m)^//\t([a-z0-9-]+)  +(.+)$`)

// TestCodes_AreDocumented checks that the package doc lists the codes of
// code.go, with the same descriptions. Users see only the package doc, because
// the constants are not exported.
func TestCodes_AreDocumented(t *testing.T) {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range codeDoc.FindAllStringSubmatch(string(src), -1) {
		documented[m[1]] = m[2]
	}
	all := codes(t)
	for code, description := range all {
		if documented[code] != description {
			t.Errorf("code %s is %q in code.go, and %q in doc.go, want the same",
				code, description, documented[code])
		}
	}
	for code := range documented {
		if _, ok := all[code]; !ok {
			t.Errorf("doc.go has the code %s, want only codes of code.go", code)
		}
	}
}

// TestCheck_Fixes checks that the Fix of a problem removes the problem.
func TestCheck_Fixes(t *testing.T) {
	for _, test := range lintTests {
		if test.fix == "" {
			continue
		}
		lines := strings.Split(test.robots, "\n")
		lines[test.line-1] = test.fix
		for _, p := range Check([]byte(strings.Join(lines, "\n"))) {
			if p.Code == test.code && p.Line == test.line {
				t.Errorf("Check returns %q for %q with the fix %q, want no such problem",
					p, test.robots, test.fix)
			}
		}
	}
}

// A long text of the file is truncated in a message, but not within a
// character.
func TestCheck_MessagesAreUTF8(t *testing.T) {
	name := strings.Repeat("a", 59) + "йй"
	problems := Check([]byte("User-agent: *\n" + name + ": /a\n"))
	if len(problems) == 0 {
		t.Fatalf("Check finds no problem in a file with the field %q, want at least one", name)
	}
	for _, p := range problems {
		if !utf8.ValidString(p.Message) || strings.Contains(p.Message, `\x`) {
			t.Errorf("the message is %q, want valid UTF-8 without escapes", p.Message)
		}
	}
}

// TestCheck_FieldsBetweenUserAgentLines checks the message about a field
// between the user-agent lines of two robots. Some fields apply only to the
// first robot, although all rules apply to both.
func TestCheck_FieldsBetweenUserAgentLines(t *testing.T) {
	for field, appliesToFirst := range map[string]bool{
		"Content-Usage: train-ai=n":    true,
		"Content-Signal: ai-train=no":  true,
		"Request-rate: 1/10":           true,
		"Visit-time: 0600-0845":        true,
		"Crawl-delay: 10":              true,
		"Clean-param: ref":             false,
		"Sitemap: https://a.example/s": false,
	} {
		const text = "applies only to the robots above it"
		found := false
		for _, p := range Check([]byte("User-agent: a\n" + field + "\nUser-agent: b\nDisallow: /x\n")) {
			if p.Code == codeMergedGroups {
				found = true
				if got := strings.Contains(p.Message, text); got != appliesToFirst {
					t.Errorf("%s: the message is %q, want one that contains %q: %t",
						field, p.Message, text, appliesToFirst)
				}
			}
		}
		if !found {
			t.Errorf("%s: Check returns no problem with the code %s, want one", field, codeMergedGroups)
		}
	}
}

// TestCheck_RulesThatAreNotCompared checks a file with so many wildcards that
// its rules are not all compared with each other. A problem reports how many
// rules were not compared, because the file would otherwise seem to be checked
// completely.
func TestCheck_RulesThatAreNotCompared(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 12_000 {
		fmt.Fprintf(&b, "Allow: /*a*%06d*b\nDisallow: /*b*%06d*c\n", i, i)
	}
	found := false
	for _, p := range Check([]byte(b.String())) {
		if p.Code == codeTooMany && strings.Contains(p.Message, "rules were not compared") {
			found = true
		}
	}
	if !found {
		t.Errorf("Check returns no problem with the code %s about rules that were not compared, want one",
			codeTooMany)
	}
}
