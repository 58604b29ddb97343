package tool

import (
	"fmt"
	"slices"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// uses are the uses for which the spider reports the preferences of owners. The
// spider itself does not use pages in these ways, but its operator may.
var uses = []preference.Use{preference.Search, preference.TrainAI, preference.AIInput}

// newSaid returns the directives of a page, and the preferences and licenses in
// the input.
func newSaid(r *colly.Response, says robotsmw.Page, in preference.Input) record.Said {
	said := record.Said{Examined: says.State.String(), Directives: slices.Collect(says.Rules())}
	if says.State == robotsmw.PageComplete && len(r.Body) > htmlmeta.Window {
		said.Examined = robotsmw.PagePartial.String()
	}
	if says.State == robotsmw.PageNotExamined {
		said.Coding = r.Headers.Get("Content-Encoding")
	}
	said.UnavailableAfter, _ = says.UnavailableAfter()
	for _, use := range uses {
		said.Uses = append(said.Uses, in.For(use))
	}
	hasEvidence := func(v preference.Verdict) bool { return len(v.Evidence) > 0 }
	if !slices.ContainsFunc(said.Uses, hasEvidence) {
		said.Uses = nil
	}
	if reuse, by := in.ContentUse(); reuse != "" {
		said.Reuse = &preference.Verdict{
			Use:      preference.Use(reuse),
			Answer:   by.Answer,
			Evidence: []preference.Statement{by},
		}
	}
	for _, l := range in.Licenses() {
		said.Licenses = append(said.Licenses, record.License(l))
	}
	return said
}

// classifyLinks returns the links that may be followed and the links that may
// not be followed, each once.
func classifyLinks(page *pagelinks.Page) (links keptLinks) {
	known := make(map[string]bool)
	for _, u := range page.Queue() {
		links.Follow = append(links.Follow, u.String())
		known[u.String()] = true
	}
	for _, l := range page.Links {
		link := l.URL.String()
		if known[link] {
			continue
		}
		known[link] = true
		links.Leave = append(links.Leave, link)
	}
	return links
}

// addLinkFacts sets those fields of said that are derived from links:
// NotFollowed, Licenses, Canonical and Refresh.
func addLinkFacts(page *pagelinks.Page, links keptLinks, said *record.Said) {
	if !page.Says.NoFollow() {
		said.NotFollowed = slices.Clone(links.Leave)
	}
	for _, l := range page.Licenses {
		said.Licenses = append(said.Licenses, record.License{URL: l.String(), Where: "link"})
	}
	if page.Canonical != nil {
		said.Canonical = page.Canonical.String()
	}
	if page.Refresh != nil {
		said.Refresh = fmt.Sprintf("%s after %v", page.Refresh.URL, page.Refresh.Delay)
	}
}
