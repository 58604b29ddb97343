package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A report is the result, as -json prints it.
type report struct {
	Source       string                `json:"source"`
	Agent        string                `json:"agent,omitempty"`
	Status       int                   `json:"status,omitempty"`
	Examined     string                `json:"examined,omitempty"`
	Refusal      *refusal.Refusal      `json:"refusal,omitempty"`
	Restrictions []string              `json:"restrictions"`
	Directives   []robotsmeta.Rule     `json:"directives,omitempty"`
	Uses         []preference.Verdict  `json:"uses,omitempty"`
	Reuse        *preference.Statement `json:"reuse,omitempty"` // the least "use" of Content-Signal; nil if none is said
	Licenses     []license             `json:"licenses,omitempty"`
	Links        []judgedLink          `json:"links,omitempty"`
	Doubt        string                `json:"doubt,omitempty"` // why the page or the robots.txt is doubtful
	Decision     *robotsmw.Decision    `json:"decision,omitempty"`

	doubtful string // the URL or file that Doubt is about
}

type license struct {
	preference.License
	Error string `json:"error,omitempty"` // why the terms could not be read
}

type judgedLink struct {
	URL     string `json:"url"`
	Element string `json:"element"`
	Rel     string `json:"rel,omitempty"`
	Follow  bool   `json:"follow"`
	Why     string `json:"why,omitempty"` // why the link is not followed
}

func (r *report) status() command.Status {
	if r.Doubt != "" {
		return command.Doubtful
	}
	denied := slices.ContainsFunc(r.Uses, func(v preference.Verdict) bool { return v.Answer == preference.Deny })
	if len(r.Restrictions) > 0 || denied || r.Decision != nil && !r.Decision.Allowed {
		return command.No
	}
	return command.OK
}

func restrictions(d robotsmeta.Directives) []string {
	all := []string{}
	for _, name := range []string{"noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai", "noml"} {
		if d.Says(name) || name == "noindex" && d.NoIndex() { // NoIndex also counts a date that is past
			all = append(all, name)
		}
	}
	if at, ok := d.UnavailableAfter(); ok {
		all = append(all, "unavailable_after: "+at.Format("2006-01-02 15:04:05 MST"))
	}
	for _, name := range []string{"max-snippet", "max-video-preview", "max-image-preview"} {
		limit := d.Limit(name)
		isTold := limit == "0" && name == "max-snippet" // as nosnippet
		if limit != "" && limit != "-1" && limit != "large" && !isTold {
			all = append(all, name+": "+limit)
		}
	}
	return all
}

func (r *report) addLinks(ctx context.Context, text []byte, u *url.URL, says robotsmw.Page, checker *robotsmw.Checker) error {
	page, err := pagelinks.FromHTML(ctx, text, u, says, pagelinks.Options{Checker: checker})
	if err != nil {
		return err
	}
	for _, l := range page.Links {
		link := judgedLink{URL: l.URL.String(), Element: l.Element, Rel: l.Rel, Follow: page.Follows(l)}
		switch {
		case link.Follow:
		case l.PageNoFollow:
			link.Why = "the page says nofollow"
		case l.NoFollow:
			link.Why = "rel=nofollow"
		case l.Err != nil:
			link.Why = l.Err.Error()
		case l.Decision.Reason == robotsmw.ByRule:
			link.Why = fmt.Sprintf("%v: %s, line %d of %s", l.Decision.Kind, l.Decision.Rule, l.Decision.Line, l.Decision.RobotsURL)
		case l.Checked:
			link.Why = l.Decision.String()
		}
		r.Links = append(r.Links, link)
	}
	return nil
}
