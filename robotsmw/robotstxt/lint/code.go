package lint

// To add a code, write it here, and in doc.go with the same words. Add the
// check to file.go, line.go or group.go, and a row to lintTests. Keep the form
// of the lines in this file, because the tests parse them.

// The codes of the file as a whole.
const (
	codeTooLarge      = "too-large"       // longer than robotstxt.MaxSize: lines at the end do not count
	codeHTML          = "html"            // an HTML page
	codeHTMLError     = "html-error-page" // an HTML page that says "not found" or the like
	codeBinary        = "binary"          // not text
	codeUTF16         = "utf-16"          // text in UTF-16
	codeBadUTF8       = "bad-utf-8"       // bytes that are not UTF-8
	codeBOM           = "bom"             // a byte order mark
	codeNUL           = "nul"             // a NUL byte
	codeCRLF          = "crlf"            // lines that end with CR LF
	codeBareCR        = "bare-cr"         // lines that end with CR alone
	codeMixedLineEnds = "mixed-line-ends" // lines that end in different ways
	codeAllCapitals   = "all-capitals"    // no small letter, though paths are case-sensitive
	codeTooMany       = "too-many"        // more problems than are listed
)

// The codes of a line.
const (
	codeNotAField       = "not-a-field"       // neither a field with a value nor a comment
	codeMissingColon    = "missing-colon"     // "Disallow /tmp"
	codeMisspeltField   = "misspelt-field"    // "Dissallow", "Useragent", "Allowed"
	codeUnknownField    = "unknown-field"     // a field that no known robot reads
	codeWithdrawnField  = "withdrawn-field"   // a known field that hardly any robot reads now
	codeKeywords        = "keywords"          // keywords for search engines, which ignore them here
	codeLeadingBlanks   = "leading-blanks"    // white space before the field
	codeGluedComment    = "glued-comment"     // "Disallow: /a#b": the part from "#" on does not count
	codeSeveralPaths    = "several-paths"     // "Disallow: /css/ /cgi-bin/"
	codeRunTogether     = "run-together"      // "Disallow: /css//cgi-bin/"
	codeURL             = "url-as-rule"       // "Disallow: https://example.com/tmp"
	codeNoLeadingSlash  = "no-leading-slash"  // "Disallow: tmp"
	codeReversed        = "reversed"          // "Disallow: scooter", "User-agent: /tmp"
	codeDollarInMiddle  = "dollar-in-middle"  // "Disallow: /*.php$/": only the last "$" is special
	codeTrailingStar    = "trailing-star"     // "Disallow: /tmp*", which matches the same as /tmp
	codeAgentForm       = "agent-form"        // "User-agent: ExampleBot/1.0", "Example Bot", "Example*"
	codeRelativeSitemap = "relative-sitemap"  // "Sitemap: /sitemap.xml"
	codeCrawlDelayValue = "crawl-delay-value" // "Crawl-delay: soon"
	codeCrawlDelayLong  = "crawl-delay-long"  // a delay of more than an hour
)

// The codes of groups, and of rules compared with each other.
const (
	codeRuleOutside       = "rule-before-user-agent" // a rule that is for no robot
	codeGroupWithoutRules = "group-without-rules"    // user-agent lines alone, so everything is allowed
	codeMergedGroups      = "merged-groups"          // Sitemap or another field between user-agent lines
	codeRepeatedAgent     = "repeated-user-agent"    // the same robot in several groups
	codeAllShut           = "all-shut"               // "Disallow: /" for "*"
	codeNamedExempt       = "named-exempt"           // all robots are shut out, and this one is let in by name
	codeNamedShut         = "named-shut"             // robots are let in, and this one is shut out by name
	codeDuplicate         = "duplicate"              // the same rule as on an earlier line of the group
	codeOverridden        = "overridden"             // a rule that another one always overrides
	codeAllowLoses        = "allow-loses"            // an Allow that a longer Disallow overrides
	codeAllowWins         = "allow-wins"             // a Disallow overridden by an Allow at least as long
)
