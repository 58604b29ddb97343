package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// uses are those that the spider asks about: it searches for nobody and trains nothing, but whoever runs it may.
var uses = []preference.Use{preference.Search, preference.TrainAI, preference.AIInput}

// Said is what a page says about itself and its use: to everybody, and to this crawler by name.
type Said struct {
	// Examined is how much of the page was looked at: "complete", "partial" (it is longer than what is looked at),
	// "header only" (there is no HTML), or "not examined" (its coding is unknown).
	Examined string `json:"examined,omitempty"`
	Coding   string `json:"coding,omitempty"` // of a page that was not examined

	Directives       []robotsmeta.Rule `json:"directives,omitempty"`
	UnavailableAfter time.Time         `json:"unavailable_after,omitzero"`

	Uses     []Use     `json:"uses,omitempty"` // one for each use; none if nothing was said about any
	Licenses []License `json:"licenses,omitempty"`

	NotFollowed []string `json:"not_followed,omitempty"` // links that say rel=nofollow
	Canonical   string   `json:"canonical,omitempty"`
	Refresh     string   `json:"refresh,omitempty"` // where the page sends its reader, and when
}

// Use is what an owner says about one use.
type Use struct {
	Use      preference.Use    `json:"use"`
	Answer   preference.Answer `json:"answer"`
	Evidence []Statement       `json:"evidence,omitempty"`
}

// Statement is one thing that was said about a use.
type Statement struct {
	preference.Statement
	Draft string `json:"draft,omitempty"` // the documents that it was read by, if they may still change
}

// License is an address of terms.
type License struct {
	URL   string `json:"url"`
	Where string `json:"where"`          // "robots.txt", "header" or "link"
	Line  int    `json:"line,omitempty"` // not of a link
}

// hear takes down what a response says, and which of its links may be followed.
func (s *spider) hear(v *visit, r *colly.Response, ext *collyrobots.Extension) {
	page := ext.Directives(r)
	v.response, v.noIndex, v.noFollow = r, page.NoIndex(), page.NoFollow()
	v.said.Examined = page.State.String()
	if page.State == robotsmw.PageComplete && len(r.Body) > htmlmeta.Window {
		v.said.Examined = robotsmw.PagePartial.String()
	}
	if page.State == robotsmw.PageNotExamined {
		v.said.Coding = r.Headers.Get("Content-Encoding")
	}
	v.said.Directives = slices.Collect(page.Rules())
	v.said.UnavailableAfter, _ = page.UnavailableAfter()

	in := preference.Input{
		Tokens:       ext.Checker().Tokens(),
		Target:       r.Request.URL.RequestURI(),
		Header:       *r.Headers,
		Page:         page.Directives,
		PolicyTokens: s.policyTokens,
	}
	if v.decision != nil {
		in.Robots = v.decision.File()
	}
	v.said.Uses = usesOf(in)
	for _, l := range in.Licenses() {
		v.said.Licenses = append(v.said.Licenses, License{l.URL, l.Where, l.Line})
	}
	if page.State == robotsmw.PageComplete {
		v.linksError = v.findLinks(r, page)
	}
}

// usesOf asks about each use. It returns nil if nothing was said about any.
func usesOf(in preference.Input) (all []Use) {
	said := false
	for _, use := range uses {
		verdict := in.For(use)
		u := Use{Use: use, Answer: verdict.Answer}
		for _, statement := range verdict.Evidence {
			u.Evidence = append(u.Evidence, Statement{statement, statement.Signal.Draft()})
			said = true
		}
		all = append(all, u)
	}
	if !said {
		return nil
	}
	return all
}

// findLinks reads the links of an HTML page.
func (v *visit) findLinks(r *colly.Response, says robotsmw.Page) error {
	page, err := pagelinks.FromHTML(context.Background(), r.Body, r.Request.URL, says, pagelinks.Options{})
	if err != nil {
		return err
	}
	known := make(map[string]bool)
	for _, u := range page.Queue() {
		v.links = append(v.links, u.String())
		known[u.String()] = true
	}
	for _, l := range page.Links {
		link := l.URL.String()
		if known[link] {
			continue
		}
		known[link] = true
		v.left = append(v.left, link)
		if !l.PageNoFollow {
			v.said.NotFollowed = append(v.said.NotFollowed, link)
		}
	}
	for _, l := range page.Licenses {
		v.said.Licenses = append(v.said.Licenses, License{URL: l.URL.String(), Where: "link"})
	}
	if page.Canonical != nil {
		v.said.Canonical = page.Canonical.String()
	}
	if page.Refresh != nil {
		v.said.Refresh = fmt.Sprintf("%s after %v", page.Refresh.URL, page.Refresh.Delay)
	}
	return nil
}

// flags is what a page says no to, in a few words, and how much of it was not looked at.
func (r Record) flags() (flags []string) {
	if r.NoIndex {
		flags = append(flags, "noindex")
	} else if !r.UnavailableAfter.IsZero() {
		flags = append(flags, "noindex from "+r.UnavailableAfter.Format(time.DateOnly))
	}
	if r.NoFollow {
		flags = append(flags, "nofollow")
	}
	switch r.Examined {
	case robotsmw.PageNotExamined.String():
		flags = append(flags, fmt.Sprintf("not examined (%s)", printable(r.Coding)))
	case robotsmw.PagePartial.String():
		flags = append(flags, fmt.Sprintf("examined to %d KiB", htmlmeta.Window>>10))
	}
	for _, u := range r.Uses {
		if u.Answer == preference.Deny {
			flags = append(flags, fmt.Sprintf("no %s", u.Use))
		}
	}
	return flags
}

// evidence is a line on what was said, and where.
type evidence struct {
	text   string
	ofSite bool // robots.txt alone says so, and may for other pages too
}

// mostLinks is how many links of a page are named that are not followed. The others are counted.
const mostLinks = 3

// evidence is what was said, a line for each place where something was, and what it comes to for each use.
func (s Said) evidence() (lines []evidence) {
	add := func(format string, args ...any) {
		lines = append(lines, evidence{text: fmt.Sprintf(format, args...)})
	}
	for i := 0; i < len(s.Directives); {
		r, said := s.Directives[i], []string(nil)
		for ; i < len(s.Directives) && samePlace(s.Directives[i], r); i++ {
			said = append(said, wording(s.Directives[i]))
		}
		if strings.HasPrefix(r.Name, "tdm-") {
			continue // no directive; it is among the uses
		}
		to := ""
		if r.Scope != "" {
			to = ", to " + printable(r.Scope)
		}
		add("%v, line %d%s: %s", r.Source, r.Line, to, printable(strings.Join(said, ", ")))
	}
	if s.Uses != nil {
		sum := evidence{ofSite: true}
		var answers []string
		for _, u := range s.Uses {
			answers = append(answers, fmt.Sprintf("%s %v", u.Use, u.Answer))
			for _, statement := range u.Evidence {
				sum.ofSite = sum.ofSite && statement.ofSite()
			}
		}
		sum.text = "uses: " + strings.Join(answers, ", ")
		lines = append(lines, sum)
	}
	for _, u := range s.Uses {
		for _, statement := range u.Evidence {
			line := evidence{text: statement.text(), ofSite: statement.ofSite()}
			isDirective := slices.Contains([]preference.Signal{preference.NoAI, preference.NoImageAI, preference.NoML}, statement.Signal)
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
		lines = append(lines, evidence{text: where + ": License: " + printable(l.URL), ofSite: l.Where == "robots.txt"})
	}
	if s.Canonical != "" {
		add("canonical: %s", printable(s.Canonical))
	}
	if s.Refresh != "" {
		add("refresh: %s", printable(s.Refresh))
	}
	for i, link := range s.NotFollowed {
		if i == mostLinks {
			add("rel=nofollow: %s more", count(len(s.NotFollowed)-i, "link"))
			break
		}
		add("rel=nofollow: %s", printable(link))
	}
	return lines
}

// samePlace reports whether two rules stand in one header line or meta.
func samePlace(a, b robotsmeta.Rule) bool {
	return a.Source == b.Source && a.Line == b.Line && a.Scope == b.Scope
}

// wording is a rule as written.
func wording(r robotsmeta.Rule) string {
	if !r.Known {
		return r.Raw + " (unknown)"
	}
	return r.Raw
}

func (s Statement) ofSite() bool { return s.Where == "robots.txt" }

// text is the statement as it stands there.
func (s Statement) text() string {
	words := s.Raw
	switch s.Signal {
	case preference.ContentUsage, preference.ContentSignal:
		if s.Path != "" {
			words = s.Path + " " + words
		}
		words = string(s.Signal) + ": " + words
	}
	text := fmt.Sprintf("%s, line %d: %s", s.Where, s.Line, printable(words))
	if s.Policy != "" {
		text += ", terms: " + printable(s.Policy)
	}
	if s.Draft != "" {
		text += " (draft)"
	}
	return text
}

// policyToken adds a name under which robots.txt may address a use: "train-ai=Google-Extended".
func (c *config) policyToken(text string) error {
	use, token, ok := strings.Cut(text, "=")
	if !ok || token == "" || !slices.Contains(uses, preference.Use(use)) {
		return fmt.Errorf("write a use (%s, %s or %s) and a name, as in train-ai=Google-Extended", uses[0], uses[1], uses[2])
	}
	if c.policyTokens == nil {
		c.policyTokens = make(map[preference.Use][]string)
	}
	c.policyTokens[preference.Use(use)] = append(c.policyTokens[preference.Use(use)], token)
	return nil
}
