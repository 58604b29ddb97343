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

// newPageInfo returns the directives of a page, and the preferences and
// licenses in the input.
func newPageInfo(r *colly.Response, directives robotsmw.Page, in preference.Input) record.PageInfo {
	info := record.PageInfo{
		Examined:   directives.State.String(),
		Directives: slices.Collect(directives.Rules()),
		Uses:       usePreferences(in),
	}
	if directives.State == robotsmw.PageComplete && len(r.Body) > htmlmeta.Window {
		info.Examined = robotsmw.PagePartial.String()
	}
	if directives.State == robotsmw.PageNotExamined {
		info.Coding = r.Headers.Get("Content-Encoding")
	}
	info.UnavailableAfter, _ = directives.UnavailableAfter()
	if use, statement := in.ContentUse(); use != "" {
		info.Reuse = &preference.Verdict{
			Use:      preference.Use(use),
			Answer:   statement.Answer,
			Evidence: []preference.Statement{statement},
		}
	}
	for _, l := range in.Licenses() {
		info.Licenses = append(info.Licenses, record.License(l))
	}
	return info
}

// usePreferences returns the preferences for the uses, or nil if the owner has
// not stated any.
func usePreferences(in preference.Input) (verdicts []preference.Verdict) {
	stated := false
	for _, use := range uses {
		v := in.For(use)
		stated = stated || len(v.Evidence) > 0
		verdicts = append(verdicts, v)
	}
	if !stated {
		return nil
	}
	return verdicts
}

// classifyLinks returns the links that may be followed and the links that may
// not be followed, each once.
func classifyLinks(page *pagelinks.Page) (links storedLinks) {
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
		links.NotFollow = append(links.NotFollow, link)
	}
	return links
}

// addLinkFacts sets those fields of info that are derived from links:
// NotFollowed, Licenses, Canonical and Refresh.
func addLinkFacts(page *pagelinks.Page, links storedLinks, info *record.PageInfo) {
	if !page.Says.NoFollow() {
		info.NotFollowed = slices.Clone(links.NotFollow)
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
