package lint

import (
	"net/url"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkLines checks each line of the file by itself.
func checkLines(r *report, file *syntax.File) {
	kinds := make(map[syntax.Field]bool)
	for _, record := range file.Records {
		kinds[record.Field] = true
	}
	hasBothKinds := kinds[syntax.Allow] && kinds[syntax.Disallow]
	lines := syntax.NewLineReader(file.Text)
	for lines.Next() {
		c := lineChecker{
			report:       r,
			text:         file.Text,
			number:       lines.Number,
			line:         lines.Line,
			comment:      lines.Comment,
			hasBothKinds: hasBothKinds,
		}
		c.check()
	}
}

func (c *lineChecker) check() {
	field := syntax.Trim(c.text, syntax.Span{From: c.line.From, To: c.comment})
	if field.From == field.To {
		return
	}
	source := field.In(c.text)
	var ok bool
	c.name, c.value, ok = syntax.Split(c.text, field)
	if !ok {
		c.addNotAField(field)
		return
	}
	if field.From > c.line.From {
		c.add(c.line.From, codeLeadingBlanks, Info, source,
			"white space before the field; some old robots ignore the line")
	}
	if name, url, ok := cutURLWithoutColon(source); ok {
		fix := ""
		if path := match.TrimAuthority(url); path != "" {
			fix = name + ": " + path
		}
		c.add(field.From+uint32(len(name)), codeMissingColon, Warning, fix,
			"there is no colon after %q; robots split the line at the colon of the URL", clip(name))
		return
	}
	name, value := c.name.In(c.text), c.value.In(c.text)
	hasGluedComment := c.comment < c.line.To && value != "" && c.value.To == c.comment
	if hasGluedComment {
		c.add(c.comment, codeGluedComment, Warning, name+": "+value+" "+c.text[c.comment:c.line.To],
			"\"#\" begins a comment, so the value is %q", clip(value))
	}
	if c.lacksColon() {
		known := knownField(name)
		if known == "" {
			c.addNotAField(field)
			return
		}
		if strings.EqualFold(name, known) {
			known = name
		}
		c.add(c.name.To, codeMissingColon, Warning, known+": "+value,
			"there is no colon after %q; some robots ignore the line", clip(name))
	}
	known := c.checkName(name, value)
	if withdrawn, ok := withdrawnFields[known]; ok {
		c.add(c.name.From, codeWithdrawnField, withdrawn.severity, "", "%s", withdrawn.message)
	}
	c.checkValue(known, name, value)
}

func (c *lineChecker) addNotAField(field syntax.Span) {
	c.add(field.From, codeNotAField, Warning, "",
		"%q is neither a field with a value nor a comment; robots ignore the line",
		clip(field.In(c.text)))
}

// lacksColon reports whether only white space separates the name from the
// value.
func (c *lineChecker) lacksColon() bool {
	between := c.text[c.name.To:c.value.From]
	return between != "" && strings.IndexByte(between, ':') < 0
}

// cutURLWithoutColon splits a line in which the first colon is in a URL, such
// as "Disallow https://example.com/a". ok is false for other lines.
func cutURLWithoutColon(line string) (name, url string, ok bool) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return "", "", false
	}
	name = line[:i]
	if strings.IndexByte(name, ':') >= 0 || knownField(name) == "" {
		return "", "", false
	}
	url = strings.TrimLeft(line[i:], " \t")
	scheme, _, found := strings.Cut(url, "://")
	isHTTP := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
	return name, url, found && isHTTP
}

// checkName checks the name of a field. It returns the known field in lower
// case, or "" if there is none.
func (c *lineChecker) checkName(name, value string) string {
	known := knownField(name)
	if strings.EqualFold(name, known) {
		return strings.ToLower(known)
	}
	switch strings.ToLower(name) {
	case "keywords", "keyword", "description", "meta", "title":
		c.add(c.name.From, codeKeywords, Warning, "",
			"robots use only the rules of robots.txt; %q has no effect", clip(name))
		return ""
	}
	if known == "" {
		c.add(c.name.From, codeUnknownField, Warning, "",
			"no known robot supports the field %q", clip(name))
		return ""
	}
	effect := "robots ignore the line"
	if syntax.ParseField(name) != syntax.Other {
		effect = "some robots ignore the line"
	}
	c.add(c.name.From, codeMisspelledField, Warning, known+": "+value,
		"%q is probably a misspelling of %s; %s", clip(name), known, effect)
	return strings.ToLower(known)
}

// checkValue checks the value of a known field.
func (c *lineChecker) checkValue(known, name, value string) {
	switch known {
	case "user-agent":
		c.checkUserAgent(value)
	case "allow", "disallow":
		c.checkPattern(name, value)
	case "sitemap":
		c.checkSitemap(value)
	case "crawl-delay":
		c.checkCrawlDelay(value)
	}
}

func (c *lineChecker) checkSitemap(value string) {
	u, err := url.Parse(value)
	if err != nil || !u.IsAbs() || u.Host == "" {
		c.addValue(0, codeRelativeSitemap, Warning, "",
			"a sitemap must be an absolute URL with scheme and host")
	}
}

func (c *lineChecker) checkCrawlDelay(value string) {
	d, ok := syntax.ParseDelay(value)
	if !ok {
		c.addValue(0, codeCrawlDelayValue, Warning, "",
			"%q is not a number of seconds; robots ignore the line", clip(value))
		return
	}
	if d > time.Hour {
		c.addValue(0, codeCrawlDelayLong, Warning, "", "few robots support a delay of %v", d)
	}
}
