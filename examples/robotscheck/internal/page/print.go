package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

func (r *report) print(w io.Writer) {
	defer func() {
		if r.Doubt != "" {
			fmt.Fprintf(w, "\ndoubtful\n  %s: %s\n", command.Printable(r.doubtful), command.Printable(r.Doubt))
		}
	}()
	whom := cmp.Or(r.Agent, "everybody")
	if r.Decision != nil && !r.Decision.Allowed {
		fmt.Fprintf(w, "%s is not for %s, so that what it says is never seen:\n  %v\n", command.Printable(r.Source), whom, r.Decision)
		return
	}
	told := cmp.Or(strings.Join(r.Restrictions, ", "), "nothing restricted")
	fmt.Fprintf(w, "%s, to %s: %s\n", command.Printable(r.Source), whom, command.Printable(told))
	switch r.Examined {
	case robotsmw.PageComplete.String():
	case robotsmw.PagePartial.String():
		fmt.Fprintf(w, "(only its first %d KiB were examined)\n", htmlmeta.Window>>10)
	default:
		fmt.Fprintf(w, "(%s)\n", r.Examined)
	}
	if r.Refusal != nil {
		fmt.Fprintf(w, "(it may be no page but a refusal: %s)\n", command.Printable(r.Refusal.String()))
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
		fmt.Fprintf(rows, "  reuse\t%s\tby %s in %s, line %d\n", strings.TrimPrefix(r.Reuse.Raw, "use="), r.Reuse.Signal, r.Reuse.Where, r.Reuse.Line)
	}
	rows.Flush()
}
