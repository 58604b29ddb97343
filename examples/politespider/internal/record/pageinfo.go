package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// PageInfo contains the directives of a page and the preferences for the use of
// its content. Some of them may be addressed to this crawler by name.
type PageInfo struct {
	// Examined is how much of the page was examined: "complete", "partial"
	// (only its beginning), "header only" (it is not HTML), or "not examined"
	// (its content coding is unknown).
	Examined string `json:"examined,omitempty"`
	Coding   string `json:"coding,omitempty"` // the content coding, if the page was not examined

	Directives       []robotsmeta.Rule `json:"directives,omitempty"`
	UnavailableAfter time.Time         `json:"unavailable_after,omitzero"`

	Uses     []preference.Verdict `json:"uses,omitempty"`  // one for each use; nil if there are no usage preferences
	Reuse    *preference.Verdict  `json:"reuse,omitempty"` // how the content may be reused; nil if not stated
	Licenses []License            `json:"licenses,omitempty"`

	NotFollowed []string `json:"not_followed,omitempty"` // links with rel=nofollow
	Canonical   string   `json:"canonical,omitempty"`
	Refresh     string   `json:"refresh,omitempty"` // where the page redirects its reader, and after how long
}

// A License is a link to license terms.
type License struct {
	URL   string `json:"url"`
	Where string `json:"where"`          // "robots.txt", "header" or "link"
	Line  int    `json:"line,omitempty"` // 0 if Where is "link"
}

// An Evidence is one line with a statement and its place.
type Evidence struct {
	Text   string
	OfSite bool // the whole line comes from robots.txt or an RSL file
}

// maxLinks is the maximum number of rel=nofollow links that Evidence lists for
// a page. Evidence only counts the others.
const maxLinks = 3

// Evidence returns the statements of the page, each with its place. A line that
// begins with "uses:" summarizes the preferences, if there are any.
func (p PageInfo) Evidence() []Evidence {
	lines := p.directiveLines()
	if p.Uses != nil {
		lines = append(lines, p.usesLine())
	}
	lines = append(lines, p.statementLines()...)
	return append(lines, p.linkLines()...)
}

// directiveLines returns a line for each element or header field that contains
// directives. It omits tdm-reservation and tdm-policy, which statementLines
// returns.
func (p PageInfo) directiveLines() (lines []Evidence) {
	for rest := p.Directives; len(rest) > 0; {
		first := rest[0]
		n := slices.IndexFunc(rest, func(r robotsmeta.Rule) bool { return !samePlace(r, first) })
		if n < 0 {
			n = len(rest)
		}
		if !strings.HasPrefix(first.Name, "tdm-") {
			lines = append(lines, Evidence{Text: formatDirectives(rest[:n])})
		}
		rest = rest[n:]
	}
	return lines
}

// formatDirectives returns the directives, which all have the same place, after
// that place.
func formatDirectives(rules []robotsmeta.Rule) string {
	var directives []string
	for _, r := range rules {
		directive := r.Raw
		if !r.Known {
			directive += " (unknown)"
		}
		directives = append(directives, directive)
	}
	place := fmt.Sprintf("%v, line %d", rules[0].Source, rules[0].Line)
	if scope := rules[0].Scope; scope != "" {
		place += ", to " + Printable(scope)
	}
	return place + ": " + Printable(strings.Join(directives, ", "))
}

// usesLine summarizes the preferences.
func (p PageInfo) usesLine() Evidence {
	ofSite := true
	var answers []string
	for _, u := range p.Uses {
		answers = append(answers, fmt.Sprintf("%s %v", u.Use, u.Answer))
		for _, statement := range u.Evidence {
			ofSite = ofSite && isOfSite(statement)
		}
	}
	return Evidence{Text: "uses: " + strings.Join(answers, ", "), OfSite: ofSite}
}

// statementLines returns the statements on which the preferences are based,
// without those that directiveLines returns.
func (p PageInfo) statementLines() (lines []Evidence) {
	verdicts := slices.Clone(p.Uses)
	if p.Reuse != nil {
		verdicts = append(verdicts, *p.Reuse)
	}
	for _, verdict := range verdicts {
		for _, statement := range verdict.Evidence {
			line := Evidence{Text: formatStatement(statement), OfSite: isOfSite(statement)}
			if !isDirective(statement) && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// linkLines returns the licenses, the canonical URL, the refresh, and the first
// links that are not followed.
func (p PageInfo) linkLines() (lines []Evidence) {
	add := func(format string, args ...any) {
		lines = append(lines, Evidence{Text: fmt.Sprintf(format, args...)})
	}
	for _, l := range p.Licenses {
		where := l.Where
		if l.Line > 0 {
			where = fmt.Sprintf("%s, line %d", where, l.Line)
		}
		lines = append(lines, Evidence{
			Text:   where + ": License: " + Printable(l.URL),
			OfSite: l.Where == "robots.txt",
		})
	}
	if p.Canonical != "" {
		add("canonical: %s", Printable(p.Canonical))
	}
	if p.Refresh != "" {
		add("refresh: %s", Printable(p.Refresh))
	}
	for _, link := range p.NotFollowed[:min(len(p.NotFollowed), maxLinks)] {
		add("rel=nofollow: %s", Printable(link))
	}
	if more := len(p.NotFollowed) - maxLinks; more > 0 {
		add("rel=nofollow: %s", Count(more, "more link"))
	}
	return lines
}

func samePlace(a, b robotsmeta.Rule) bool {
	return a.Source == b.Source && a.Line == b.Line && a.Scope == b.Scope
}

// isDirective reports whether the statement is a directive of the page.
func isDirective(s preference.Statement) bool {
	return s.Signal == "noai" || s.Signal == "noimageai" || s.Signal == "noml"
}

// isOfSite reports whether the statement comes from a file that covers many
// pages.
func isOfSite(s preference.Statement) bool {
	return s.Where == "robots.txt" || s.Signal == "RSL"
}

// formatStatement returns a statement after its place.
func formatStatement(s preference.Statement) string {
	words := s.Raw
	switch s.Signal {
	case "Content-Usage", "Content-Signal":
		if s.Path != "" {
			words = s.Path + " " + words
		}
		words = s.Signal + ": " + words
	}
	text := fmt.Sprintf("%s, line %d: %s", s.Where, s.Line, Printable(words))
	if s.Policy != "" {
		text += ", terms: " + Printable(s.Policy)
	}
	if s.Draft != "" {
		text += " (draft)"
	}
	return text
}
