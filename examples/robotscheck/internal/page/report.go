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
	Reuse        *preference.Statement `json:"reuse,omitempty"` // the strictest "use" of Content-Signal
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
	isDenied := func(v preference.Verdict) bool { return v.Answer == preference.Deny }
	if len(r.Restrictions) > 0 || slices.ContainsFunc(r.Uses, isDenied) {
		return command.No
	}
	if r.isDisallowed() {
		return command.No
	}
	return command.OK
}

func (r *report) isDisallowed() bool { return r.Decision != nil && !r.Decision.Allowed }

// restrictions returns the directives that restrict the use of a page.
func restrictions(d robotsmeta.Directives) []string {
	all := []string{}
	if d.NoIndex() { // also after the date of unavailable_after
		all = append(all, "noindex")
	}
	for _, name := range []string{
		"nofollow", "noarchive", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai", "noml",
	} {
		if d.Says(name) {
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

// addLinks adds the links of the page at u. If checker is nil, the robots.txt
// files of the links are not checked.
func (r *report) addLinks(
	ctx context.Context, text []byte, u *url.URL, directives robotsmw.Page, checker *robotsmw.Checker,
) error {
	page, err := pagelinks.FromHTML(ctx, text, u, directives, checker)
	if err != nil {
		return err
	}
	for _, l := range page.Links {
		link := judgedLink{
			URL:     l.URL.String(),
			Element: l.Element,
			Rel:     l.Rel,
			Follow:  page.Follows(l),
		}
		if !link.Follow {
			link.Why = whyNotFollowed(page, l, checker != nil)
		}
		r.Links = append(r.Links, link)
	}
	return nil
}

// whyNotFollowed returns why a polite robot does not follow a link. hasChecker
// reports whether the robots.txt of the link was checked.
func whyNotFollowed(page *pagelinks.Page, l pagelinks.Link, hasChecker bool) string {
	d := l.Decision
	switch {
	case page.Says.NoFollow():
		return "nofollow on the page"
	case l.NoFollow:
		return "rel=nofollow"
	case l.Err != nil:
		return l.Err.Error()
	case d.Reason == robotsmw.ByRule:
		return fmt.Sprintf("%v: %s, line %d of %s", d.Kind, d.Rule, d.Line, d.RobotsURL)
	case hasChecker:
		return d.String()
	}
	return ""
}

func (r *report) Print(w io.Writer) {
	agent := cmp.Or(r.Agent, "everybody")
	if r.isDisallowed() {
		fmt.Fprintf(w, "%s is disallowed for %s, so its directives are never read:\n  %v\n",
			command.Printable(r.Source), agent, r.Decision)
	} else {
		r.printPage(w, agent)
	}
	if r.Doubt != "" {
		fmt.Fprintf(w, "\ndoubtful\n  %s: %s\n",
			command.Printable(r.doubtful), command.Printable(r.Doubt))
	}
}

func (r *report) printPage(w io.Writer, agent string) {
	result := cmp.Or(strings.Join(r.Restrictions, ", "), "nothing restricted")
	fmt.Fprintf(w, "%s, for %s: %s\n", command.Printable(r.Source), agent, command.Printable(result))
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
	r.printLicenses(w)
	r.printLinks(w)
}

func (r *report) printLicenses(w io.Writer) {
	if len(r.Licenses) == 0 {
		return
	}
	fmt.Fprintln(w, "\nlicenses")
	for _, l := range r.Licenses {
		fmt.Fprintf(w, "  %s (%s, line %d)\n", command.Printable(l.URL), l.Where, l.Line)
		if l.Error != "" {
			fmt.Fprintf(w, "    not read: %s\n", command.Printable(l.Error))
		}
	}
}

func (r *report) printLinks(w io.Writer) {
	if len(r.Links) == 0 {
		return
	}
	fmt.Fprintln(w, "\nlinks")
	for _, l := range r.Links {
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
		name := d.Name
		note := ""
		if d.Value != "" {
			name += ": " + d.Value
		}
		if d.Scope != "" {
			note += ", to " + d.Scope
		}
		if !d.Known {
			note += ", unknown"
		}
		fmt.Fprintf(rows, "  %s\t%v, line %d%s\n",
			command.Printable(name), d.Source, d.Line, command.Printable(note))
	}
	rows.Flush()
}

func (r *report) printUses(w io.Writer) {
	hasEvidence := func(v preference.Verdict) bool { return len(v.Evidence) > 0 }
	if r.Reuse == nil && !slices.ContainsFunc(r.Uses, hasEvidence) {
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
	if reuse := r.Reuse; reuse != nil {
		value := strings.TrimPrefix(reuse.Raw, "use=")
		fmt.Fprintf(rows, "  reuse\t%s\tby %s in %s%s\n",
			value, reuse.Signal, reuse.Where, command.Line(reuse.Line))
	}
	rows.Flush()
}
