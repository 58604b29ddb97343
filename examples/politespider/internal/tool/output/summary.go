package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

func (p *textPrinter) summary(s record.Summary) {
	fmt.Fprintln(p.w)
	fmt.Fprintln(p.w, p.paint(bold, headline(s)))
	fmt.Fprintln(p.w)

	p.hosts(s.Hosts)
	p.list("\nFetched, but not to be kept (noindex)", s.NotToKeep, func(record.Record) string { return "" })
	p.uses(s)
	p.list("\nLost", s.Lost, func(r record.Record) string {
		if r.Status != 0 {
			return fmt.Sprintf("%s: %d, %s", r.Verdict, r.Status, p.note(r))
		}
		return fmt.Sprintf("%s: %s", r.Verdict, p.note(r))
	})
	if s.Elsewhere > 0 {
		fmt.Fprintf(p.w, "\nBesides, %s fetched by earlier runs or other processes of this crawl.\n", record.Count(s.Elsewhere, "page"))
	}
	switch {
	case s.Stopped == "failed":
		fmt.Fprintf(p.w, "\nFailed: %s still in the queue.\n", record.Count(s.Left, "URL"))
	case s.Stopped == "interrupted":
		fmt.Fprintf(p.w, "\nInterrupted: %s still in the queue.\n", record.Count(s.Left, "URL"))
	case s.Left > 0:
		fmt.Fprintf(p.w, "\nStopped at -%s: %s still in the queue.\n", s.Stopped, record.Count(s.Left, "URL"))
	}
}

func (p *textPrinter) hosts(hosts []record.HostSummary) {
	width := len("host")
	for _, h := range hosts {
		width = max(width, len(h.Host))
	}
	const format = "  %-*s  %8s  %7s  %7s  %4s  %8s  %7s  %s\n"
	fmt.Fprint(p.w, p.paint(dim, fmt.Sprintf(format, width, "host", "requests", "fetched", "blocked", "lost", "interval", "closest", "robots.txt")))
	for _, h := range hosts {
		closest := "-"
		if h.Closest > 0 {
			closest = seconds(h.Closest)
		}
		fmt.Fprintf(p.w, format, width, h.Host, number(h.Requests), number(h.Fetched), number(h.Blocked), number(h.Lost), seconds(h.Interval), closest, h.RobotsTxt)
	}
	fmt.Fprintln(p.w, p.paint(dim, "  interval: the least time owed to the host between two pages; closest: the least that there was"))
}

// uses says how many pages allow and deny a use, and which drafts that was read
// by.
func (p *textPrinter) uses(s record.Summary) {
	if len(s.Uses) == 0 {
		return
	}
	fmt.Fprintln(p.w, "\nWhat owners say about use, in pages:")
	for _, u := range s.Uses {
		fmt.Fprintf(p.w, "  %-9s %3d allow, %3d deny\n", u.Use, u.Allow, u.Deny)
	}
	for _, signal := range slices.Sorted(maps.Keys(s.Drafts)) {
		fmt.Fprintln(p.w, p.paint(dim, fmt.Sprintf("  (draft) %s: %s", signal, s.Drafts[signal])))
	}
}

func (p *textPrinter) list(title string, records []record.Record, note func(record.Record) string) {
	if len(records) == 0 {
		return
	}
	fmt.Fprintln(p.w, title+":")
	for _, r := range records {
		fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf("  %-*s  %s", urlWidth, r.URL, note(r)), " "))
	}
}

func headline(s record.Summary) string {
	parts := []string{record.Count(s.Fetched, "page") + " fetched"}
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.Moved, "moved"}, {s.Blocked, "blocked"}, {s.Unreachable, "unreachable"}, {s.Missing, "missing"}, {s.Failed, "failed"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return fmt.Sprintf("%s in %s: %s", record.Count(len(s.Hosts), "host"), seconds(s.Seconds), strings.Join(parts, ", "))
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
