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

// The spider reports what owners say about these uses of their pages. The
// spider itself does not use pages in these ways, but its operator may.
var uses = []preference.Use{preference.Search, preference.TrainAI, preference.AIInput}

func saidOf(r *colly.Response, says robotsmw.Page, in preference.Input) record.Said {
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
	if !slices.ContainsFunc(said.Uses, func(v preference.Verdict) bool { return len(v.Evidence) > 0 }) {
		said.Uses = nil
	}
	if reuse, by := in.ContentUse(); reuse != "" {
		said.Reuse = &preference.Verdict{Use: preference.Use(reuse), Answer: by.Answer, Evidence: []preference.Statement{by}}
	}
	for _, l := range in.Licenses() {
		said.Licenses = append(said.Licenses, record.License(l))
	}
	return said
}

// linksOf returns the links that may be followed and the links that may not be
// followed. It also sets those fields of said that come from links:
// NotFollowed, Licenses, Canonical and Refresh.
func linksOf(page *pagelinks.Page, said *record.Said) (links keptLinks) {
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
		if !page.Says.NoFollow() {
			said.NotFollowed = append(said.NotFollowed, link)
		}
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
	return links
}
