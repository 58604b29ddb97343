// Package lint finds problems in a robots.txt file: what is wrong, what robots
// read differently than the author seems to expect, and what is worth knowing.
//
//	for _, problem := range lint.Check(body) {
//		fmt.Println(problem)
//	}
//
// It reads files as package robotstxt does, but the two do not import each
// other, so a robot need not include a linter.
//
// # Codes
//
// A [Code] names a kind of [Problem]. Codes are texts that do not change, so
// programs can compare them and list those to ignore.
//
// Codes of the file as a whole:
//
//	too-large               longer than robotstxt.MaxSize: lines at the end do not count
//	html                    an HTML page
//	html-error-page         an HTML page that says "not found" or the like, served as robots.txt
//	binary                  not text
//	utf-16                  text in UTF-16
//	bad-utf-8               bytes that are not UTF-8
//	bom                     a byte order mark
//	nul                     a NUL byte
//	crlf                    lines that end with CR LF
//	bare-cr                 lines that end with CR alone
//	mixed-line-ends         lines that end in different ways
//	all-capitals            no small letter, though paths are case-sensitive
//	too-many                more problems than are listed
//
// Codes of a line:
//
//	not-a-field             neither a field with a value nor a comment
//	missing-colon           "Disallow /tmp"
//	misspelt-field          "Dissallow", "Useragent", "Allowed"
//	unknown-field           a field that no known robot reads
//	withdrawn-field         a field that robots once read and read no more
//	keywords                keywords for search engines, which ignore them here
//	leading-blanks          white space before the field
//	glued-comment           "Disallow: /a#b": what follows "#" does not count
//	several-paths           "Disallow: /css/ /cgi-bin/"
//	run-together            "Disallow: /css//cgi-bin/"
//	url-as-rule             "Disallow: https://example.com/tmp"
//	no-leading-slash        "Disallow: tmp"
//	reversed                "User-agent: *" with "Disallow: scooter", "User-agent: /tmp"
//	dollar-in-middle        "Disallow: /*.php$/": only the last "$" is special
//	trailing-star           "Disallow: /tmp*": rules match beginnings anyway
//	agent-form              "User-agent: ExampleBot/1.0", "Example Bot", "Example*"
//	relative-sitemap        "Sitemap: /sitemap.xml"
//	crawl-delay-value       "Crawl-delay: soon"
//	crawl-delay-long        more than an hour
//
// Codes of groups, and of rules compared with each other:
//
//	rule-before-user-agent  a rule that is for no robot
//	group-without-rules     a group that allows everything
//	merged-groups           user-agent lines with Crawl-delay or Sitemap between
//	repeated-user-agent     the same robot in several groups
//	named-exempt            closed to all, open to a robot by name
//	named-shut              open to all, closed to a robot by name
//	duplicate               the same rule again
//	overridden              a rule that another one always overrides
//	allow-loses             an Allow that a longer Disallow overrides
//	allow-wins              an Allow that overrides a shorter Disallow
//	every-file              every file of a directory instead of the directory
package lint
