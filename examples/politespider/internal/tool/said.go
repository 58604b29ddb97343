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
	said := record.Said{Examined: says.State.String()}
	if says.State == robotsmw.PageComplete && len(r.Body) > htmlmeta.Window {
		said.Examined = robotsmw.PagePartial.String()
	}
	if says.State == robotsmw.PageNotExamined {
		said.Coding = r.Headers.Get("Content-Encoding")
	}
	said.Directives = slices.Collect(says.Rules())
	said.UnavailableAfter, _ = says.UnavailableAfter()
	said.Uses = usesOf(in)
	if reuse, by := in.ContentUse(); reuse != "" {
		said.Reuse = &record.Use{Use: preference.Use(reuse), Answer: by.Answer, Evidence: []preference.Statement{by}}
	}
	for _, l := range in.Licenses() {
		said.Licenses = append(said.Licenses, record.License{URL: l.URL, Where: l.Where, Line: l.Line})
	}
	return said
}

func usesOf(in preference.Input) (all []record.Use) {
	said := false
	for _, use := range uses {
		verdict := in.For(use)
		said = said || len(verdict.Evidence) > 0
		all = append(all, record.Use(verdict))
	}
	if !said {
		return nil
	}
	return all
}

// linksOf returns the links that may be followed and the links that may not be
// followed. It also sets those fields of its second argument that come from
// links: NotFollowed, Licenses, Canonical and Refresh.
func linksOf(page *pagelinks.Page, said *record.Said) (follow, leave []string) {
	known := make(map[string]bool)
	for _, u := range page.Queue() {
		follow = append(follow, u.String())
		known[u.String()] = true
	}
	for _, l := range page.Links {
		link := l.URL.String()
		if known[link] {
			continue
		}
		known[link] = true
		leave = append(leave, link)
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
	return follow, leave
}
