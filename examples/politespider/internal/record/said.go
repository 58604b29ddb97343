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

// mostLinks is the maximum number of rel=nofollow links that Evidence lists for
// a page. Evidence only counts the others.
const mostLinks = 3

// Evidence returns the statements of the page, each with its place. A line that
// begins with "uses:" sums up the preferences for use, if there are any.
func (s Said) Evidence() (lines []Evidence) {
	add := func(format string, args ...any) {
		lines = append(lines, Evidence{Text: fmt.Sprintf(format, args...)})
	}
	for i := 0; i < len(s.Directives); {
		r, said := s.Directives[i], []string(nil)
		for ; i < len(s.Directives) && samePlace(s.Directives[i], r); i++ {
			said = append(said, wording(s.Directives[i]))
		}
		if strings.HasPrefix(r.Name, "tdm-") {
			continue // tdm-reservation and tdm-policy are listed below, with the uses
		}
		to := ""
		if r.Scope != "" {
			to = ", to " + Printable(r.Scope)
		}
		add("%v, line %d%s: %s", r.Source, r.Line, to, Printable(strings.Join(said, ", ")))
	}
	if s.Uses != nil {
		sum := Evidence{OfSite: true}
		var answers []string
		for _, u := range s.Uses {
			answers = append(answers, fmt.Sprintf("%s %v", u.Use, u.Answer))
			for _, statement := range u.Evidence {
				sum.OfSite = sum.OfSite && isOfSite(statement)
			}
		}
		sum.Text = "uses: " + strings.Join(answers, ", ")
		lines = append(lines, sum)
	}
	all := s.Uses
	if s.Reuse != nil {
		all = append(slices.Clip(all), *s.Reuse)
	}
	for _, u := range all {
		for _, statement := range u.Evidence {
			line := Evidence{Text: textOf(statement), OfSite: isOfSite(statement)}
			isDirective := slices.Contains([]string{"noai", "noimageai", "noml"}, statement.Signal)
			if !isDirective && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	for _, l := range s.Licenses {
		where := l.Where
		if l.Line > 0 {
			where = fmt.Sprintf("%s, line %d", where, l.Line)
		}
		lines = append(lines, Evidence{Text: where + ": License: " + Printable(l.URL), OfSite: l.Where == "robots.txt"})
	}
	if s.Canonical != "" {
		add("canonical: %s", Printable(s.Canonical))
	}
	if s.Refresh != "" {
		add("refresh: %s", Printable(s.Refresh))
	}
	for i, link := range s.NotFollowed {
		if i == mostLinks {
			add("rel=nofollow: %s more", Count(len(s.NotFollowed)-i, "link"))
			break
		}
		add("rel=nofollow: %s", Printable(link))
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

func textOf(s preference.Statement) string {
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
