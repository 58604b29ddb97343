package lint

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

func checkLines(r *report, file *syntax.File) {
	kinds := make(map[syntax.Field]bool)
	for _, record := range file.Records {
		kinds[record.Field] = true
	}
	r.mixed = kinds[syntax.Allow] && kinds[syntax.Disallow]
	for lines := syntax.NewLineReader(file.Text); lines.Next(); {
		checkLine(r, file.Text, lines.Number, lines.Line, lines.Comment)
	}
}

func checkLine(r *report, text string, number uint32, line syntax.Span, comment uint32) {
	body := syntax.Trim(text, syntax.Span{From: line.From, To: comment})
	if body.From == body.To {
		return
	}
	column := func(at uint32) int { return int(at-line.From) + 1 }
	source := body.In(text)
	name, value, ok := syntax.Split(text, body)
	if !ok {
		r.add(number, column(body.From), codeNotAField, Warning, "", "%q is neither a field with a value nor a comment; robots skip it", clip(source))
		return
	}
	if body.From > line.From {
		r.add(number, 1, codeLeadingBlanks, Info, source, "blanks before the field; some old robots skip such a line")
	}
	n, v := name.In(text), value.In(text)
	if word, rest, ok := cutURLWithoutColon(source); ok {
		fix := ""
		if path := match.TrimAuthority(rest); path != "" {
			fix = word + ": " + path
		}
		r.add(number, column(body.From)+len(word), codeMissingColon, Warning, fix, "there is no colon after %q; robots take that of the URL for it", clip(word))
		return
	}
	if comment < line.To && value.From < value.To && value.To == comment {
		r.add(number, column(comment), codeGluedComment, Warning, n+": "+v+" "+text[comment:line.To],
			"\"#\" begins a comment: the value is %q", clip(v))
	}
	if strings.IndexByte(text[name.To:value.From], ':') < 0 && name.To < value.From {
		field := knownField(n)
		if field == "" {
			r.add(number, column(body.From), codeNotAField, Warning, "", "%q is neither a field with a value nor a comment; robots skip it", clip(source))
			return
		}
		if strings.EqualFold(n, field) {
			field = n
		}
		r.add(number, column(name.To), codeMissingColon, Warning, field+": "+v, "there is no colon after %q; not all robots read such a line", clip(n))
	}
	at := func(i int) int { return column(value.From) + i }
	known := checkName(r, number, column(name.From), n, v)
	if withdrawn, ok := withdrawnFields[known]; ok {
		r.add(number, column(name.From), codeWithdrawnField, withdrawn.severity, "", "%s", withdrawn.why)
	}
	checkValue(r, number, at, known, n, v)
}

// checkValue checks the value of a field. known is the field that name means,
// and at returns the column of a byte of the value.
func checkValue(r *report, number uint32, at func(i int) int, known, name, v string) {
	switch known {
	case "user-agent":
		checkAgent(r, number, at, v)
	case "allow", "disallow":
		checkPattern(r, number, at, name, v)
	case "sitemap":
		if u, err := url.Parse(v); err != nil || !u.IsAbs() || u.Host == "" {
			r.add(number, at(0), codeRelativeSitemap, Warning, "", "a sitemap needs an absolute URL, with scheme and host")
		}
	case "crawl-delay":
		if d, ok := syntax.ParseDelay(v); !ok {
			r.add(number, at(0), codeCrawlDelayValue, Warning, "", "%q is not a number of seconds; robots ignore the line", clip(v))
		} else if d > time.Hour {
			r.add(number, at(0), codeCrawlDelayLong, Warning, "", "a delay of %v: few robots wait for so long between two pages", d)
		}
	}
}

// knownFields has the fields that the linter knows, in their usual spelling.
var knownFields = []string{
	"User-agent", "Allow", "Disallow", "Sitemap", "Crawl-delay", "Request-rate", "Visit-time", "Host", "Clean-param",
	"Noindex", "Nofollow", "Content-Signal", "Content-Usage", "License", "Comment", "Cache-delay", "Robot-version",
}

var withdrawnFields = map[string]struct {
	severity Severity
	why      string
}{
	"noindex":       {Warning, "Google has not read Noindex here since September 2019; let robots fetch the page, and say noindex there or in X-Robots-Tag"},
	"nofollow":      {Warning, "Google has not read Nofollow here since September 2019; say nofollow in the page or in X-Robots-Tag"},
	"host":          {Info, "Host was Yandex's, which withdrew it in March 2018; redirect to the host that you prefer"},
	"request-rate":  {Info, "Request-rate is of a draft of 1996; hardly a robot reads it, but some read Crawl-delay"},
	"visit-time":    {Info, "Visit-time is of a draft of 1996; hardly a robot reads it"},
	"robot-version": {Info, "Robot-version is of a draft of 1996; no robot reads it"},
	"cache-delay":   {Info, "no robot is known to read Cache-delay; say in Cache-Control how long robots.txt may be kept"},
}

// knownField returns the known field that a name means or seems to mean, in its
// usual spelling. If there is none, it returns "".
func knownField(name string) string {
	for _, known := range knownFields {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	switch syntax.ParseField(name) {
	case syntax.UserAgent:
		return "User-agent"
	case syntax.Disallow:
		return "Disallow"
	case syntax.CrawlDelay:
		return "Crawl-delay"
	}
	// Invisible characters may precede the name. An example is a byte order
	// mark that was encoded twice, or is in the middle of a file.
	if rest := strings.TrimLeftFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }); rest != name {
		if rest = strings.TrimSpace(rest); rest == "" {
			return ""
		}
		return knownField(rest)
	}
	if len(name) < 20 {
		for _, known := range knownFields {
			if isNear(strings.ToLower(name), strings.ToLower(known)) {
				return known
			}
		}
	}
	return ""
}

// checkName checks a field's name. It returns the known field that the name
// means or seems to mean, in lower case, or "" if there is none.
func checkName(r *report, number uint32, column int, name, value string) string {
	meant := knownField(name)
	if strings.EqualFold(name, meant) {
		return strings.ToLower(meant)
	}
	switch strings.ToLower(name) {
	case "keywords", "keyword", "description", "meta", "title":
		r.add(number, column, codeKeywords, Warning, "", "robots.txt is read by robots for rules only; %q has no effect", clip(name))
		return ""
	}
	if meant == "" {
		r.add(number, column, codeUnknownField, Warning, "", "no known robot reads a field %q", clip(name))
		return ""
	}
	effect := "robots do not know it"
	if syntax.ParseField(name) != syntax.Other {
		effect = "not all robots understand it"
	}
	r.add(number, column, codeMisspeltField, Warning, meant+": "+value, "%q is taken to mean %s, but %s", clip(name), meant, effect)
	return strings.ToLower(meant)
}

// isNear reports whether the first name looks like a misspelling of the second.
// It does if the two differ only in blanks, "_" and "-". If the first name has
// at least four bytes, there are other cases: one byte is added, missing or
// changed; two neighbouring bytes are swapped; or an ending such as "ed" is
// added. But the first byte of the second name must not be missing or changed.
func isNear(a, b string) bool {
	if a[0] != b[0] && !(len(a) > 1 && a[1] == b[0]) {
		return false
	}
	if bare(a) == bare(b) {
		return true
	}
	if len(a) < 4 || len(a) > len(b)+2 || len(b) > len(a)+1 {
		return false
	}
	if strings.TrimRight(a, "edsx") == b {
		return true
	}
	x, y := a, b // what is left of a and b without their common beginning and end
	for x != "" && y != "" && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for x != "" && y != "" && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	areSwapped := len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
	return len(x) <= 1 && len(y) <= 1 || areSwapped
}

func bare(s string) string { return joints.Replace(s) }

var joints = strings.NewReplacer("-", "", "_", "", " ", "")

// cutURLWithoutColon recognizes a line in which the first colon is in the URL,
// such as "Disallow https://example.com/a". It returns the field and the URL.
func cutURLWithoutColon(line string) (field, url string, ok bool) {
	i := strings.IndexAny(line, " \t")
	if i < 0 || strings.IndexByte(line[:i], ':') >= 0 || knownField(line[:i]) == "" {
		return "", "", false
	}
	url = strings.TrimLeft(line[i:], " \t")
	scheme, _, found := strings.Cut(url, "://")
	return line[:i], url, found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

func checkAgent(r *report, number uint32, at func(int) int, value string) {
	if value == "" {
		r.add(number, at(0), codeAgentForm, Error, "User-agent: *", "no robot is named")
		return
	}
	if value == "*" {
		return
	}
	if value[0] == '/' {
		r.add(number, at(0), codeReversed, Error, "Disallow: "+value, "%q is a path, not a robot", clip(value))
		return
	}
	n := len(nameIn(value))
	if n == len(value) {
		return
	}
	fix := ""
	if meant := robotMeant(value, n); meant != "" {
		fix = "User-agent: " + meant
	}
	r.add(number, at(n), codeAgentForm, Warning, fix, "a robot's name has letters, digits, \"_\", \"-\" and \".\" only; robots look at %q", clip(value[:n]))
}

// nameIn returns the part of a user-agent value that robots look at.
func nameIn(value string) string {
	n := 0
	for n < len(value) && syntax.IsTokenByte(value[n]) {
		n++
	}
	return value[:n]
}

// robotMeant returns what a user-agent line was probably meant to say, or "" if
// that is not clear. The first n bytes of value are the beginning of a name.
// robotMeant returns them if a version, a comment or a "*" follows. If another
// word follows, the result is "", because that word may be a part of the name.
// The result is also "" for the User-Agent header of a browser, which names no
// robot.
func robotMeant(value string, n int) string {
	if syntax.Wildcard.IsIn(value) {
		return "*"
	}
	if n == 0 || strings.EqualFold(value[:n], "Mozilla") {
		return ""
	}
	switch rest := strings.TrimLeft(value[n:], " \t"); {
	case value[n] == '/' && strings.IndexByte(rest, ' ') < 0, rest == "*", rest[0] == '(':
		return value[:n]
	}
	return ""
}

func checkPattern(r *report, number uint32, at func(int) int, name, pattern string) {
	if pattern == "" {
		return
	}
	if i := strings.Index(pattern, "://"); i > 0 && i < 6 && strings.IndexByte(pattern[:i], '/') < 0 {
		fix := ""
		if path := match.TrimAuthority(pattern); path != "" {
			fix = name + ": " + path
		}
		r.add(number, at(0), codeURL, Error, fix, "a rule is a path, not a URL; this one matches nothing")
		return
	}
	if i := strings.IndexAny(pattern, " \t"); i >= 0 {
		if fields := strings.Fields(pattern); len(fields) > 1 && !slices.ContainsFunc(fields, func(f string) bool { return f[0] != '/' }) {
			fix := name + ": " + strings.Join(fields, "\n"+name+": ")
			if strings.IndexByte(pattern, ':') >= 0 || slices.Contains(fields, "/") {
				fix = "" // "/http: /" is another mistake; a rule "/" would disallow the whole site
			}
			r.add(number, at(i), codeSeveralPaths, Error, fix, "one line has one path; robots read the blank as a part of it")
			return
		}
	}
	if !match.CanMatch(pattern) {
		if looksLikeRobot(pattern) {
			r.add(number, at(0), codeReversed, Error, "User-agent: "+pattern+"\nDisallow: /", "%q is a robot, not a path; this rule matches nothing", clip(pattern))
			return
		}
		r.add(number, at(0), codeNoLeadingSlash, Error, withSlash(name, pattern), "a path begins with \"/\"; this rule matches nothing")
		return
	}
	checkRunTogether(r, number, at, name, pattern)
	if i := dollarInMiddle(pattern); i >= 0 {
		r.add(number, at(i), codeDollarInMiddle, Warning, "", "\"$\" means the end only where it is last; here it is a byte like any other")
	}
	if n := len(strings.TrimRight(pattern, "*")); n < len(pattern) && n > 0 {
		fix := ""
		if !r.mixed { // else a rule of another length may decide otherwise
			fix = name + ": " + pattern[:n]
		}
		r.add(number, at(n), codeTrailingStar, Info, fix, "a \"*\" at the end changes nothing but the rule's length: rules match beginnings")
	}
}

// checkRunTogether reports two paths without a blank between them. It looks
// only at the path, without the query, and there only at the first "//". It
// reports nothing in three cases: this "//" is at the beginning or the end of
// the path; a colon comes before it, as in "/http://example.com"; or a third
// slash, a "*" or a "$" follows it.
func checkRunTogether(r *report, number uint32, at func(int) int, name, pattern string) {
	path, _, _ := strings.Cut(pattern, "?")
	i := strings.Index(path, "//")
	if i < 1 || path[i-1] == ':' || i+2 == len(path) || strings.IndexByte("/*$", path[i+2]) >= 0 {
		return
	}
	fix := ""
	if strings.HasSuffix(path, "/") { // only two directories get a fix: "/a//b.html" is probably one path
		fix = name + ": " + path[:i+1] + "\n" + name + ": " + pattern[i+1:]
	}
	r.add(number, at(i), codeRunTogether, Warning, fix, "two paths seem to have run together; this rule matches only what has \"//\" there")
}

// withSlash returns a rule with a slash before its pattern, if that is surely
// what it was meant to say: ".css" may stand for "/*.css", and "Disallow: /a"
// for another line.
func withSlash(name, pattern string) string {
	path := strings.TrimPrefix(pattern, "./")
	if strings.HasPrefix(path, "?") || beginsWithAlnum(path) && !strings.Contains(path, ":") {
		return name + ": /" + path
	}
	return ""
}

// dollarInMiddle returns the index of the first "$" if that is not at the end
// of the pattern, and otherwise -1. It is also -1 if the "$" seems to begin a
// name, as in "/$metadata".
func dollarInMiddle(pattern string) int {
	i := strings.IndexByte(pattern, '$')
	if i == len(pattern)-1 || i > 0 && pattern[i-1] == '/' && beginsWithAlnum(pattern[i+1:]) {
		return -1
	}
	return i
}

// beginsWithAlnum reports whether s begins with an ASCII letter or digit.
func beginsWithAlnum(s string) bool {
	return s != "" && ('a' <= s[0]|0x20 && s[0]|0x20 <= 'z' || '0' <= s[0] && s[0] <= '9')
}

func looksLikeRobot(s string) bool {
	lower := strings.ToLower(s)
	for _, sign := range []string{"bot", "spider", "crawl", "slurp", "scooter", "archiver", "fetcher", "teoma", "yandex", "wget", "curl"} {
		if strings.Contains(lower, sign) && !strings.ContainsAny(s, "/.*?=") {
			return true
		}
	}
	return false
}
