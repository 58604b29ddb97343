package robotstxt

import (
	"cmp"
	"fmt"
	"slices"
)

// A Problem is something in a robots.txt file that is wrong, is not read as its author seems to expect, or is worth
// knowing.
type Problem struct {
	Line     int // counted from 1; 0 for the file as a whole
	Column   int // in octets, counted from 1; 0 for the line as a whole
	Code     Code
	Severity Severity
	Message  string
	Fix      string // what the line should be, with "\n" between several; "" where that is for the author to say
}

// String returns a problem as compilers print theirs: line, column, severity, message, code.
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s: %s [%s]", p.Line, p.Column, p.Severity, p.Message, p.Code)
}

// A Severity tells how bad a [Problem] is.
type Severity uint8

const (
	Info    Severity = iota // how this will be read; nothing need be wrong
	Warning                 // robots read this otherwise than the author seems to expect, or than each other
	Error                   // this has no effect, or one that nobody can want
)

// String returns "info", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return "unknown severity"
}

// A Code names a kind of [Problem]. Codes do not change.
type Code string

// The codes of the file as a whole.
const (
	CodeTooLarge      Code = "too-large"       // longer than MaxSize: lines at the end do not count
	CodeHTML          Code = "html"            // an HTML page
	CodeHTMLError     Code = "html-error-page" // an HTML page that says "not found" or the like, served as robots.txt
	CodeBinary        Code = "binary"          // not text
	CodeUTF16         Code = "utf-16"          // text in UTF-16
	CodeBadUTF8       Code = "bad-utf-8"       // octets that are not UTF-8
	CodeBOM           Code = "bom"             // a byte order mark
	CodeNUL           Code = "nul"             // a NUL octet
	CodeCRLF          Code = "crlf"            // lines that end with CR LF
	CodeBareCR        Code = "bare-cr"         // lines that end with CR alone
	CodeMixedLineEnds Code = "mixed-line-ends" // lines that end in different ways
	CodeAllCapitals   Code = "all-capitals"    // no small letter anywhere, though paths have regard to case
	CodeTooMany       Code = "too-many"        // more problems than are listed
)

// The codes of a line.
const (
	CodeNotAField       Code = "not-a-field"       // neither a field with a value nor a comment
	CodeMissingColon    Code = "missing-colon"     // "Disallow /tmp"
	CodeMisspeltField   Code = "misspelt-field"    // "Dissallow", "Useragent", "Allowed"
	CodeUnknownField    Code = "unknown-field"     // a field that no known robot reads
	CodeKeywords        Code = "keywords"          // words for search engines, which read none here
	CodeLeadingBlanks   Code = "leading-blanks"    // white space before the field
	CodeGluedComment    Code = "glued-comment"     // "Disallow: /a#b": what follows "#" does not count
	CodeSeveralPaths    Code = "several-paths"     // "Disallow: /css/ /cgi-bin/"
	CodeRunTogether     Code = "run-together"      // "Disallow: /css//cgi-bin/"
	CodeURL             Code = "url-as-rule"       // "Disallow: https://example.com/tmp"
	CodeNoLeadingSlash  Code = "no-leading-slash"  // "Disallow: tmp"
	CodeReversed        Code = "reversed"          // "User-agent: *" with "Disallow: scooter", "User-agent: /tmp"
	CodeDollarInMiddle  Code = "dollar-in-middle"  // "Disallow: /*.php$/": only the last "$" is special
	CodeTrailingStar    Code = "trailing-star"     // "Disallow: /tmp*": rules match beginnings anyway
	CodeAgentForm       Code = "agent-form"        // "User-agent: ExampleBot/1.0", "Example Bot", "Example*"
	CodeRelativeSitemap Code = "relative-sitemap"  // "Sitemap: /sitemap.xml"
	CodeCrawlDelayValue Code = "crawl-delay-value" // "Crawl-delay: soon"
	CodeCrawlDelayLong  Code = "crawl-delay-long"  // more than an hour
)

// The codes of groups, and of rules among each other.
const (
	CodeRuleOutside       Code = "rule-before-user-agent" // a rule that belongs to nobody
	CodeGroupWithoutRules Code = "group-without-rules"    // which allows everything
	CodeMergedGroups      Code = "merged-groups"          // user-agent lines parted by Crawl-delay or Sitemap alone
	CodeRepeatedAgent     Code = "repeated-user-agent"    // the same robot in several groups
	CodeNamedExempt       Code = "named-exempt"           // shut to all, open to a robot by name
	CodeNamedShut         Code = "named-shut"             // open to all, shut to a robot by name
	CodeDuplicate         Code = "duplicate"              // the same rule again
	CodeOverridden        Code = "overridden"             // a rule that another one always overrides
	CodeAllowLoses        Code = "allow-loses"            // an Allow to which a longer Disallow is preferred
	CodeAllowWins         Code = "allow-wins"             // an Allow that is preferred to a shorter Disallow
	CodeEveryFile         Code = "every-file"             // every file of a directory instead of the directory
)

// maxProblems is how many problems are listed.
const maxProblems = 1000

// Lint looks for problems in a robots.txt file. They come in the order of their lines. A file that does what its
// author wants has no error and no warning, but there may be infos. Of more than 1,000 problems the rest is counted
// only, by CodeTooMany.
func Lint(body []byte) []Problem {
	l := linter{body: body}
	if l.checkEncoding(); !l.unreadable {
		l.file = Parse(body)
		l.checkLines()
		l.checkGroups()
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if l.more > 0 {
		l.problems = append(l.problems, Problem{Code: CodeTooMany, Severity: Warning, Message: fmt.Sprintf("%d more problems are not listed", l.more)})
	}
	return l.problems
}

type linter struct {
	body       []byte
	file       *File
	problems   []Problem
	more       int  // problems that are not listed
	work       int  // what looking at rules among each other has cost
	unreadable bool // there is no point in looking at lines
}

func (l *linter) report(line uint32, column int, code Code, severity Severity, fix, message string, args ...any) {
	if len(l.problems) >= maxProblems {
		l.more++
		return
	}
	l.problems = append(l.problems, Problem{int(line), column, code, severity, fmt.Sprintf(message, args...), fix})
}
