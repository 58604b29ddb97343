package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// summary prints the summary.
func (p *textPrinter) summary(s record.Summary) {
	p.erase()
	fmt.Fprintln(p.w)
	fmt.Fprintln(p.w, p.paint(bold, headline(s)))
	p.hosts(s.Hosts)
	p.list("\nFetched, but must not be kept (noindex)", s.NotToKeep, func(record.Record) string { return "" })
	p.list("\nFetched, but possibly block pages", s.Doubtful, p.note)
	p.uses(s)
	p.list("\nLost", s.Lost, func(r record.Record) string {
		why := []string{status(r), p.note(r)}
		why = slices.DeleteFunc(why, func(s string) bool { return s == "" })
		return fmt.Sprintf("%s: %s", r.Verdict, strings.Join(why, ", "))
	})
	p.ended(s.Ended)
	if s.Elsewhere > 0 {
		fmt.Fprintf(p.w, "\nEarlier runs and other processes of this crawl have finished %s.\n",
			record.Count(s.Elsewhere, "other URL"))
	}
	if s.Stopped != "" {
		fmt.Fprintf(p.w, "\n%s: %s still in the queue.\n", stopReason(s.Stopped), record.Count(s.Left, "URL"))
	}
}

// stopReason describes why a crawl stopped.
func stopReason(stopped string) string {
	switch stopped {
	case "failed":
		return "Failed"
	case "interrupted":
		return "Interrupted"
	}
	return "Stopped at -" + stopped
}

// The text output is limited. The JSON output is complete.
const (
	maxHosts  = 50 // rows of the table of hosts
	maxListed = 20 // items of each list
)

// hosts prints a table of the hosts, with notes on its columns.
func (p *textPrinter) hosts(hosts []record.HostSummary) {
	if len(hosts) == 0 { // this run sent no request
		return
	}
	fmt.Fprintln(p.w)
	shown := hosts[:min(len(hosts), maxHosts)]
	width := len("host")
	hasPauses := false
	hasPorts := false
	for _, h := range shown {
		width = max(width, len(h.Host))
		hasPauses = hasPauses || h.Paused > 0
		hasPorts = hasPorts || h.Addresses > 1
	}
	const format = "  %-*s  %8s  %7s  %5s  %9s  %10s  %4s  %8s  %7s  %6s  %s\n"
	heading := fmt.Sprintf(format, width, "host",
		"requests", "fetched", "moved", "not found", "disallowed", "lost",
		"interval", "closest", "paused", "robots.txt")
	fmt.Fprint(p.w, p.paint(dim, heading))
	for _, h := range shown {
		fmt.Fprintf(p.w, format, width, h.Host,
			number(h.Requests), number(h.Fetched), number(h.Moved),
			number(h.NotFound), number(h.Disallowed), number(h.Lost),
			seconds(h.Interval), secondsOrDash(h.Closest), secondsOrDash(h.Paused), h.RobotsTxt)
	}
	p.more(len(hosts) - len(shown))
	notes := "  interval: the minimum time between two requests for pages; closest: the shortest time measured"
	if hasPauses {
		notes += ";\n  paused: how long responses such as 429 and 503 paused the host"
	}
	if hasPorts {
		notes += ";\n  the ports of a host share one pace, but each port has its own robots.txt and Crawl-delay"
	}
	fmt.Fprintln(p.w, p.paint(dim, notes))
}

// ended lists the hosts whose crawl has ended at -max-refused.
func (p *textPrinter) ended(hosts []record.EndedHost) {
	if len(hosts) == 0 {
		return
	}
	fmt.Fprintln(p.w, "\nHosts stopped at -max-refused (crawl incomplete):")
	for _, h := range hosts[:min(len(hosts), maxListed)] {
		fmt.Fprintf(p.w, "  %-*s  %s still in the queue\n", urlWidth, h.Host, record.Count(h.Left, "URL"))
	}
	p.more(len(hosts) - maxListed)
}

// secondsOrDash is like seconds, but returns a dash for 0.
func secondsOrDash(s float64) string {
	if s == 0 {
		return "-"
	}
	return seconds(s)
}

// more prints how many items are not listed.
func (p *textPrinter) more(n int) {
	if n > 0 {
		fmt.Fprintf(p.w, "  … and %d more, in -json\n", n)
	}
}

// uses lists the usage preferences, and the drafts that define signals.
func (p *textPrinter) uses(s record.Summary) {
	if len(s.Uses) == 0 {
		return
	}
	fmt.Fprintln(p.w, "\nUsage preferences, by number of pages:")
	for _, u := range s.Uses {
		fmt.Fprintf(p.w, "  %-9s %3d allow, %3d deny\n", u.Use, u.Allow, u.Deny)
	}
	for _, signal := range slices.Sorted(maps.Keys(s.Drafts)) {
		fmt.Fprintln(p.w, p.paint(dim, fmt.Sprintf("  (draft) %s: %s", signal, s.Drafts[signal])))
	}
}

// list prints a list of records, each with a note.
func (p *textPrinter) list(title string, records []record.Record, note func(record.Record) string) {
	if len(records) == 0 {
		return
	}
	fmt.Fprintln(p.w, title+":")
	shown := records[:min(len(records), maxListed)]
	for _, r := range shown {
		line := fmt.Sprintf("  %-*s  %s", urlWidth, r.URL, note(r))
		fmt.Fprintln(p.w, strings.TrimRight(line, " "))
	}
	p.more(len(records) - len(shown))
}

// headline returns the first line of the summary.
func headline(s record.Summary) string {
	parts := []string{record.Count(s.Fetched, "page") + " fetched"}
	for _, v := range record.Verdicts[1:] {
		if n := s.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	runs := ""
	if s.Runs > 1 {
		runs = fmt.Sprintf(" (%d runs)", s.Runs)
	}
	hosts := record.Count(len(s.Hosts), "host")
	return fmt.Sprintf("%s in %s%s: %s", hosts, seconds(s.Seconds), runs, strings.Join(parts, ", "))
}

// number formats a number, with a dash for 0.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
