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

// newPageInfo returns the directives of a page, and the preferences and licenses in
// the input.
func newPageInfo(r *colly.Response, directives robotsmw.Page, in preference.Input) record.PageInfo {
	info := record.PageInfo{Examined: directives.State.String(), Directives: slices.Collect(directives.Rules())}
	if directives.State == robotsmw.PageComplete && len(r.Body) > htmlmeta.Window {
		info.Examined = robotsmw.PagePartial.String()
	}
	if directives.State == robotsmw.PageNotExamined {
		info.Coding = r.Headers.Get("Content-Encoding")
	}
	info.UnavailableAfter, _ = directives.UnavailableAfter()
	for _, use := range uses {
		info.Uses = append(info.Uses, in.For(use))
	}
	hasEvidence := func(v preference.Verdict) bool { return len(v.Evidence) > 0 }
	if !slices.ContainsFunc(info.Uses, hasEvidence) {
		info.Uses = nil
	}
	if reuse, by := in.ContentUse(); reuse != "" {
		info.Reuse = &preference.Verdict{
			Use:      preference.Use(reuse),
			Answer:   by.Answer,
			Evidence: []preference.Statement{by},
		}
	}
	for _, l := range in.Licenses() {
		info.Licenses = append(info.Licenses, record.License(l))
	}
	return info
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

// addLinkFacts sets those fields of info that are derived from links:
// NotFollowed, Licenses, Canonical and Refresh.
func addLinkFacts(page *pagelinks.Page, links keptLinks, info *record.PageInfo) {
	if !page.Says.NoFollow() {
		info.NotFollowed = slices.Clone(links.Leave)
	}
	for _, l := range page.Licenses {
		info.Licenses = append(info.Licenses, record.License{URL: l.String(), Where: "link"})
	}
	if page.Canonical != nil {
		info.Canonical = page.Canonical.String()
	}
	if page.Refresh != nil {
		info.Refresh = fmt.Sprintf("%s after %v", page.Refresh.URL, page.Refresh.Delay)
	}
}
