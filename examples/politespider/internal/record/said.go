package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// Said contains the directives of a page and the preferences for the use of its
// content. Some of them may be addressed to this crawler by name.
type Said struct {
	// Examined is how much of the page was examined: "complete", "partial"
	// (only its beginning), "header only" (it is not HTML), or "not examined"
	// (its content coding is unknown).
	Examined string `json:"examined,omitempty"`
	Coding   string `json:"coding,omitempty"` // the content coding, if the page was not examined

	Directives       []robotsmeta.Rule `json:"directives,omitempty"`
	UnavailableAfter time.Time         `json:"unavailable_after,omitzero"`

	Uses     []preference.Verdict `json:"uses,omitempty"`  // one for each use; nil if the page has no usage preferences
	Reuse    *preference.Verdict  `json:"reuse,omitempty"` // how far it may be reused; nil if the page has no such preference
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
	OfSite bool // everything on the line comes from robots.txt or an RSL file
}

// maxLinks is the maximum number of rel=nofollow links that Evidence lists for
// a page. Evidence only counts the others.
const maxLinks = 3

// Evidence returns the statements of the page, each with its place. A line that
// begins with "uses:" summarizes the preferences, if there are any.
func (s Said) Evidence() []Evidence {
	lines := s.directiveLines()
	if s.Uses != nil {
		lines = append(lines, s.usesLine())
	}
	lines = append(lines, s.statementLines()...)
	return append(lines, s.linkLines()...)
}

// directiveLines returns a line for each element or header field that contains
// directives. tdm-reservation and tdm-policy are part of statementLines.
func (s Said) directiveLines() (lines []Evidence) {
	for rest := s.Directives; len(rest) > 0; {
		first := rest[0]
		n := slices.IndexFunc(rest, func(r robotsmeta.Rule) bool { return !samePlace(r, first) })
		if n < 0 {
			n = len(rest)
		}
		var words []string
		for _, r := range rest[:n] {
			words = append(words, wording(r))
		}
		rest = rest[n:]
		if strings.HasPrefix(first.Name, "tdm-") {
			continue
		}
		to := ""
		if first.Scope != "" {
			to = ", to " + Printable(first.Scope)
		}
		text := fmt.Sprintf("%v, line %d%s: %s", first.Source, first.Line, to, Printable(strings.Join(words, ", ")))
		lines = append(lines, Evidence{Text: text})
	}
	return lines
}

// usesLine summarizes the preferences.
func (s Said) usesLine() Evidence {
	sum := Evidence{OfSite: true}
	var answers []string
	for _, u := range s.Uses {
		answers = append(answers, fmt.Sprintf("%s %v", u.Use, u.Answer))
		for _, statement := range u.Evidence {
			sum.OfSite = sum.OfSite && isOfSite(statement)
		}
	}
	sum.Text = "uses: " + strings.Join(answers, ", ")
	return sum
}

// statementLines returns the statements on which the preferences are based,
// without those that are directives.
func (s Said) statementLines() (lines []Evidence) {
	all := s.Uses
	if s.Reuse != nil {
		all = append(slices.Clip(all), *s.Reuse)
	}
	for _, u := range all {
		for _, statement := range u.Evidence {
			line := Evidence{Text: formatStatement(statement), OfSite: isOfSite(statement)}
			isDirective := slices.Contains([]string{"noai", "noimageai", "noml"}, statement.Signal)
			if !isDirective && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// linkLines returns the licenses, the canonical URL, the refresh, and the first
// links that are not followed.
func (s Said) linkLines() (lines []Evidence) {
	add := func(format string, args ...any) {
		lines = append(lines, Evidence{Text: fmt.Sprintf(format, args...)})
	}
	for _, l := range s.Licenses {
		where := l.Where
		if l.Line > 0 {
			where = fmt.Sprintf("%s, line %d", where, l.Line)
		}
		lines = append(lines, Evidence{
			Text:   where + ": License: " + Printable(l.URL),
			OfSite: l.Where == "robots.txt",
		})
	}
	if s.Canonical != "" {
		add("canonical: %s", Printable(s.Canonical))
	}
	if s.Refresh != "" {
		add("refresh: %s", Printable(s.Refresh))
	}
	for _, link := range s.NotFollowed[:min(len(s.NotFollowed), maxLinks)] {
		add("rel=nofollow: %s", Printable(link))
	}
	if more := len(s.NotFollowed) - maxLinks; more > 0 {
		add("rel=nofollow: %s", Count(more, "more link"))
	}
	return lines
}

func samePlace(a, b robotsmeta.Rule) bool {
	return a.Source == b.Source && a.Line == b.Line && a.Scope == b.Scope
}

func wording(r robotsmeta.Rule) string {
	if !r.Known {
		return r.Raw + " (unknown)"
	}
	return r.Raw
}

// isOfSite reports whether the statement comes from a file that covers many
// pages.
func isOfSite(s preference.Statement) bool { return s.Where == "robots.txt" || s.Signal == "RSL" }

// formatStatement returns a statement with its place.
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
