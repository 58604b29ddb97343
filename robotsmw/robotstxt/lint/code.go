package lint

// To add a code, write it here, and in doc.go with the same words. Add the
// check to file.go, line.go or group.go, and a row to lintTests. Keep the form
// of the lines in this file, because the tests parse them.

// The codes of the file as a whole.
const (
	codeTooLarge      Code = "too-large"       // longer than robotstxt.MaxSize: lines at the end do not count
	codeHTML          Code = "html"            // an HTML page
	codeHTMLError     Code = "html-error-page" // an HTML page that says "not found" or the like
	codeBinary        Code = "binary"          // not text
	codeUTF16         Code = "utf-16"          // text in UTF-16
	codeBadUTF8       Code = "bad-utf-8"       // bytes that are not UTF-8
	codeBOM           Code = "bom"             // a byte order mark
	codeNUL           Code = "nul"             // a NUL byte
	codeCRLF          Code = "crlf"            // lines that end with CR LF
	codeBareCR        Code = "bare-cr"         // lines that end with CR alone
	codeMixedLineEnds Code = "mixed-line-ends" // lines that end in different ways
	codeAllCapitals   Code = "all-capitals"    // no small letter, though paths are case-sensitive
	codeTooMany       Code = "too-many"        // more problems than are listed
)

// The codes of a line.
const (
	codeNotAField       Code = "not-a-field"       // neither a field with a value nor a comment
	codeMissingColon    Code = "missing-colon"     // "Disallow /tmp"
	codeMisspeltField   Code = "misspelt-field"    // "Dissallow", "Useragent", "Allowed"
	codeUnknownField    Code = "unknown-field"     // a field that no known robot reads
	codeWithdrawnField  Code = "withdrawn-field"   // a known field that hardly any robot reads now
	codeKeywords        Code = "keywords"          // keywords for search engines, which ignore them here
	codeLeadingBlanks   Code = "leading-blanks"    // white space before the field
	codeGluedComment    Code = "glued-comment"     // "Disallow: /a#b": the part from "#" on does not count
	codeSeveralPaths    Code = "several-paths"     // "Disallow: /css/ /cgi-bin/"
	codeRunTogether     Code = "run-together"      // "Disallow: /css//cgi-bin/"
	codeURL             Code = "url-as-rule"       // "Disallow: https://example.com/tmp"
	codeNoLeadingSlash  Code = "no-leading-slash"  // "Disallow: tmp"
	codeReversed        Code = "reversed"          // "Disallow: scooter", "User-agent: /tmp"
	codeDollarInMiddle  Code = "dollar-in-middle"  // "Disallow: /*.php$/": only the last "$" is special
	codeTrailingStar    Code = "trailing-star"     // "Disallow: /tmp*", which matches the same as /tmp
	codeAgentForm       Code = "agent-form"        // "User-agent: ExampleBot/1.0", "Example Bot", "Example*"
	codeRelativeSitemap Code = "relative-sitemap"  // "Sitemap: /sitemap.xml"
	codeCrawlDelayValue Code = "crawl-delay-value" // "Crawl-delay: soon"
	codeCrawlDelayLong  Code = "crawl-delay-long"  // a delay of more than an hour
)

// The codes of groups, and of rules compared with each other.
const (
	codeRuleOutside       Code = "rule-before-user-agent" // a rule that is for no robot
	codeGroupWithoutRules Code = "group-without-rules"    // user-agent lines alone, so everything is allowed
	codeMergedGroups      Code = "merged-groups"          // Sitemap or another field between user-agent lines
	codeRepeatedAgent     Code = "repeated-user-agent"    // the same robot in several groups
	codeAllShut           Code = "all-shut"               // "Disallow: /" for "*"
	codeNamedExempt       Code = "named-exempt"           // all robots are shut out, and this one is let in by name
	codeNamedShut         Code = "named-shut"             // robots are let in, and this one is shut out by name
	codeDuplicate         Code = "duplicate"              // the same rule as on an earlier line of the group
	codeOverridden        Code = "overridden"             // a rule that another one always overrides
	codeAllowLoses        Code = "allow-loses"            // an Allow that a longer Disallow overrides
	codeAllowWins         Code = "allow-wins"             // a Disallow overridden by an Allow at least as long
	codeEveryFile         Code = "every-file"             // ten or more files of a directory, one by one
)
