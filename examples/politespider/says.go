package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// uses are those that the spider asks about: it searches for nobody and trains nothing, but whoever runs it may.
var uses = []preference.Use{preference.Search, preference.TrainAI, preference.AIInput}

// hear takes down what a response says, and which of its links may be followed.
func (s *spider) hear(v *visit, r *colly.Response, ext *collyrobots.Extension) {
	page := ext.Directives(r)
	v.response, v.noIndex, v.noFollow, v.noArchive = r, page.NoIndex(), page.NoFollow(), page.NoArchive()
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
		v.said.Licenses = append(v.said.Licenses, record.License{URL: l.URL, Where: l.Where, Line: l.Line})
	}
	if page.State == robotsmw.PageComplete {
		v.linksError = v.findLinks(r, page)
	}
}

// usesOf asks about each use. It returns nil if nothing was said about any.
func usesOf(in preference.Input) (all []record.Use) {
	said := false
	for _, use := range uses {
		verdict := in.For(use)
		u := record.Use{Use: use, Answer: verdict.Answer}
		for _, statement := range verdict.Evidence {
			u.Evidence = append(u.Evidence, record.Statement{Statement: statement, Draft: statement.Signal.Draft()})
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
		v.said.Licenses = append(v.said.Licenses, record.License{URL: l.String(), Where: "link"})
	}
	if page.Canonical != nil {
		v.said.Canonical = page.Canonical.String()
	}
	if page.Refresh != nil {
		v.said.Refresh = fmt.Sprintf("%s after %v", page.Refresh.URL, page.Refresh.Delay)
	}
	return nil
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
