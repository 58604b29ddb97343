package page

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
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
	Reuse        *preference.Statement `json:"reuse,omitempty"` // the least "use" of Content-Signal; nil if there is none
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
	isDisallowed := r.Decision != nil && !r.Decision.Allowed
	if len(r.Restrictions) > 0 || denied || isDisallowed {
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
		isNoSnippet := limit == "0" && name == "max-snippet" // listed as nosnippet
		isUnlimited := limit == "" || limit == "-1" || limit == "large"
		if !isUnlimited && !isNoSnippet {
			all = append(all, name+": "+limit)
		}
	}
	return all
}

func (r *report) addLinks(ctx context.Context, text []byte, u *url.URL, says robotsmw.Page, checker *robotsmw.Checker) error {
	page, err := pagelinks.FromHTML(ctx, text, u, says, checker)
	if err != nil {
		return err
	}
	for _, l := range page.Links {
		link := judgedLink{URL: l.URL.String(), Element: l.Element, Rel: l.Rel, Follow: page.Follows(l)}
		switch {
		case link.Follow:
		case page.Says.NoFollow():
			link.Why = "the page says nofollow"
		case l.NoFollow:
			link.Why = "rel=nofollow"
		case l.Err != nil:
			link.Why = l.Err.Error()
		case l.Decision.Reason == robotsmw.ByRule:
			link.Why = fmt.Sprintf("%v: %s, line %d of %s", l.Decision.Kind, l.Decision.Rule, l.Decision.Line, l.Decision.RobotsURL)
		case checker != nil:
			link.Why = l.Decision.String()
		}
		r.Links = append(r.Links, link)
	}
	return nil
}

func (r *report) Print(w io.Writer) {
	defer func() {
		if r.Doubt != "" {
			fmt.Fprintf(w, "\ndoubtful\n  %s: %s\n", command.Printable(r.doubtful), command.Printable(r.Doubt))
		}
	}()
	whom := cmp.Or(r.Agent, "everybody")
	if r.Decision != nil && !r.Decision.Allowed {
		fmt.Fprintf(w, "%s is disallowed for %s, so its directives are never read:\n  %v\n", command.Printable(r.Source), whom, r.Decision)
		return
	}
	told := cmp.Or(strings.Join(r.Restrictions, ", "), "nothing restricted")
	fmt.Fprintf(w, "%s, for %s: %s\n", command.Printable(r.Source), whom, command.Printable(told))
	switch r.Examined {
	case robotsmw.PageComplete.String():
	case robotsmw.PagePartial.String():
		fmt.Fprintf(w, "(only its first %d KiB were examined)\n", htmlmeta.Window>>10)
	default:
		fmt.Fprintf(w, "(%s)\n", r.Examined)
	}
	if r.Refusal != nil {
		fmt.Fprintf(w, "(it may be a block page: %s)\n", command.Printable(r.Refusal.String()))
	}
	r.printDirectives(w)
	r.printUses(w)
	for i, l := range r.Licenses {
		if i == 0 {
			fmt.Fprintln(w, "\nlicenses")
		}
		fmt.Fprintf(w, "  %s (%s, line %d)\n", command.Printable(l.URL), l.Where, l.Line)
		if l.Error != "" {
			fmt.Fprintf(w, "    not read: %s\n", command.Printable(l.Error))
		}
	}
	for i, l := range r.Links {
		if i == 0 {
			fmt.Fprintln(w, "\nlinks")
		}
		if l.Follow {
			fmt.Fprintf(w, "  follow  %s\n", command.Printable(l.URL))
		} else {
			fmt.Fprintf(w, "  leave   %s (%s)\n", command.Printable(l.URL), command.Printable(l.Why))
		}
	}
}

func (r *report) printDirectives(w io.Writer) {
	if len(r.Directives) == 0 {
		return
	}
	fmt.Fprintln(w, "\ndirectives")
	rows := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, d := range r.Directives {
		name, note := d.Name, ""
		if d.Value != "" {
			name += ": " + d.Value
		}
		if d.Scope != "" {
			note += ", to " + d.Scope
		}
		if !d.Known {
			note += ", unknown"
		}
		fmt.Fprintf(rows, "  %s\t%v, line %d%s\n", command.Printable(name), d.Source, d.Line, command.Printable(note))
	}
	rows.Flush()
}

func (r *report) printUses(w io.Writer) {
	if r.Reuse == nil && !slices.ContainsFunc(r.Uses, func(v preference.Verdict) bool { return len(v.Evidence) > 0 }) {
		return
	}
	fmt.Fprintln(w, "\nuses")
	rows := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, v := range r.Uses {
		begin := fmt.Sprintf("  %s\t%v", v.Use, v.Answer)
		if len(v.Evidence) == 0 {
			fmt.Fprintln(rows, begin)
		}
		for _, statement := range v.Evidence {
			fmt.Fprintf(rows, "%s\t%s\n", begin, command.Printable(statement.String()))
			begin = "  \t"
		}
	}
	if r.Reuse != nil {
		fmt.Fprintf(rows, "  reuse\t%s\tby %s in %s%s\n", strings.TrimPrefix(r.Reuse.Raw, "use="), r.Reuse.Signal, r.Reuse.Where, command.Line(r.Reuse.Line))
	}
	rows.Flush()
}
