// Package lint finds mistakes in robots.txt files, and lines that robots may
// not interpret as their author expects.
//
//	for _, problem := range lint.Check(body) {
//		fmt.Println(problem)
//	}
//
// Check parses files like package robotstxt, which does not import this
// package, so that crawlers need not include a linter.
//
// # Codes
//
// A code identifies a kind of [Problem]. Codes are stable, so programs can
// compare them, for example to ignore some problems.
//
// Codes of the file as a whole:
//
//	too-large               longer than robotstxt.MaxSize: lines at the end are ignored
//	html                    an HTML page
//	html-error-page         an HTML page with an error message
//	binary                  not text
//	utf-16                  text in UTF-16
//	bad-utf-8               bytes that are not UTF-8
//	bom                     a byte order mark
//	nul                     a NUL byte
//	crlf                    lines that end with CR LF
//	bare-cr                 lines that end with CR alone
//	mixed-line-ends         lines that end in different ways
//	all-capitals            no lower-case letters, although paths are case-sensitive
//	too-many                more problems than are listed
//
// Codes of a line:
//
//	not-a-field             neither a field with a value nor a comment
//	missing-colon           "Disallow /tmp"
//	misspelled-field        "Dissallow", "Useragent", "Allowed"
//	unknown-field           a field that no known robot supports
//	withdrawn-field         a known field that few robots support today
//	keywords                keywords for search engines, which ignore them
//	leading-blanks          white space before the field
//	glued-comment           "Disallow: /a#b": the part from "#" on is ignored
//	several-paths           "Disallow: /css/ /cgi-bin/"
//	run-together            "Disallow: /css//cgi-bin/"
//	url-as-rule             "Disallow: https://example.com/tmp"
//	no-leading-slash        "Disallow: tmp"
//	reversed                "Disallow: scooter", "User-agent: /tmp"
//	dollar-in-middle        "Disallow: /*.php$/": only the last "$" is special
//	trailing-star           "Disallow: /tmp*", which matches the same as /tmp
//	agent-form              "User-agent: ExampleBot/1.0", "Example Bot", "Example*"
//	relative-sitemap        "Sitemap: /sitemap.xml"
//	crawl-delay-value       "Crawl-delay: soon"
//	crawl-delay-long        a delay of more than an hour
//
// Codes of groups, and of rules compared with each other:
//
//	rule-before-user-agent  a rule that does not apply to any robot
//	group-without-rules     only user-agent lines, so everything is allowed
//	merged-groups           Sitemap or another field between user-agent lines
//	repeated-user-agent     the same robot in several groups
//	all-shut                "Disallow: /" for "*"
//	named-exempt            all robots are disallowed, but this one is allowed by name
//	named-shut              robots are allowed, but this one is disallowed by name
//	duplicate               the same rule as on an earlier line of the group
//	overridden              a rule that another one always overrides
//	allow-loses             an Allow that a longer Disallow overrides
//	allow-wins              a Disallow overridden by an Allow at least as long
package lint
