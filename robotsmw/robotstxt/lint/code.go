package lint

// Codes must also be listed in doc.go with the same description, and have a row
// in lintTests. Tests parse the lines of this file.

// The codes of the file as a whole.
const (
	codeTooLarge      = "too-large"       // longer than robotstxt.MaxSize: lines at the end are ignored
	codeHTML          = "html"            // an HTML page
	codeHTMLError     = "html-error-page" // an HTML page with an error message
	codeBinary        = "binary"          // not text
	codeUTF16         = "utf-16"          // text in UTF-16
	codeBadUTF8       = "bad-utf-8"       // bytes that are not UTF-8
	codeBOM           = "bom"             // a byte order mark
	codeNUL           = "nul"             // a NUL byte
	codeCRLF          = "crlf"            // lines that end with CR LF
	codeBareCR        = "bare-cr"         // lines that end with CR alone
	codeMixedLineEnds = "mixed-line-ends" // lines that end in different ways
	codeAllCapitals   = "all-capitals"    // no lower-case letters, although paths are case-sensitive
	codeTooMany       = "too-many"        // more problems than are listed
)

// The codes of a line.
const (
	codeNotAField       = "not-a-field"       // neither a field with a value nor a comment
	codeMissingColon    = "missing-colon"     // "Disallow /tmp"
	codeMisspelledField = "misspelled-field"  // "Dissallow", "Useragent", "Allowed"
	codeUnknownField    = "unknown-field"     // a field that no known robot supports
	codeWithdrawnField  = "withdrawn-field"   // a known field that few robots support today
	codeKeywords        = "keywords"          // keywords for search engines, which ignore them
	codeLeadingBlanks   = "leading-blanks"    // white space before the field
	codeGluedComment    = "glued-comment"     // "Disallow: /a#b": the part from "#" on is ignored
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
	codeRuleOutside       = "rule-before-user-agent" // a rule that does not apply to any robot
	codeGroupWithoutRules = "group-without-rules"    // only user-agent lines, so everything is allowed
	codeMergedGroups      = "merged-groups"          // Sitemap or another field between user-agent lines
	codeRepeatedAgent     = "repeated-user-agent"    // the same robot in several groups
	codeAllShut           = "all-shut"               // "Disallow: /" for "*"
	codeNamedExempt       = "named-exempt"           // all robots are disallowed, but this one is allowed by name
	codeNamedShut         = "named-shut"             // robots are allowed, but this one is disallowed by name
	codeDuplicate         = "duplicate"              // the same rule as on an earlier line of the group
	codeOverridden        = "overridden"             // a rule that another one always overrides
	codeAllowLoses        = "allow-loses"            // an Allow that a longer Disallow overrides
	codeAllowWins         = "allow-wins"             // a Disallow overridden by an Allow at least as long
)
