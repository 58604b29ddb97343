package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/terminal"
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// printer shows a crawl as it goes. The ledger calls it with one thing at a time.
type printer interface {
	begin(what, userAgent string)
	record(record.Record)
	summary(record.Summary)
}

// liveness is a printer that also shows, between the records, what the crawl is waiting for.
type liveness interface {
	progress(soFar record.Summary, q frontier.State)
}

// jsonPrinter writes a JSON object a line: the records, then {"summary": …}.
type jsonPrinter struct{ enc *json.Encoder }

func newJSONPrinter(w io.Writer) jsonPrinter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // URLs are full of &
	return jsonPrinter{enc}
}

func (p jsonPrinter) begin(string, string)   {}
func (p jsonPrinter) record(r record.Record) { p.enc.Encode(r) }
func (p jsonPrinter) summary(s record.Summary) {
	p.enc.Encode(struct {
		Summary record.Summary `json:"summary"`
	}{s})
}

// textPrinter writes a line for each thing that happened, and the summary as tables: plain, or for a terminal.
type textPrinter struct {
	w      io.Writer
	colour bool
	told   map[string]bool // what a host's robots.txt says, printed already
}

// livePrinter is a textPrinter for a terminal: below the records it keeps a line on what the crawl is waiting for.
type livePrinter struct{ *textPrinter }

// progressPeriod is how often that line is drawn.
const progressPeriod = 100 * time.Millisecond

// progressWidth is its most: what goes beyond the edge of a terminal could not be erased.
const progressWidth = 77

func (p livePrinter) progress(soFar record.Summary, q frontier.State) {
	line := fmt.Sprintf("%d fetched", soFar.Fetched)
	if soFar.Fetched > 0 {
		line += fmt.Sprintf(" (%.1f/s)", float64(soFar.Fetched)/max(soFar.Seconds, 0.1))
	}
	line += fmt.Sprintf(", %d blocked, %d left, %d hosts waiting", soFar.Blocked, q.Queued+q.Out, q.Hosts)
	if q.Next != "" {
		line += fmt.Sprintf(", next %s in %s", q.Next, seconds(q.Wait.Seconds()))
	}
	if runes := []rune(line); len(runes) > progressWidth {
		line = string(runes[:progressWidth])
	}
	fmt.Fprintf(p.w, "%s  %s\r", terminal.EraseLine, p.paint(dim, line))
}

func (p livePrinter) record(r record.Record) {
	fmt.Fprint(p.w, terminal.EraseLine)
	p.textPrinter.record(r)
}

func (p livePrinter) summary(s record.Summary) {
	fmt.Fprint(p.w, terminal.EraseLine)
	p.textPrinter.summary(s)
}

// lineFormat is that of a line up to its note: time, waited, verdict, status, URL.
const lineFormat = "%7s  %7s  %s  %4s  %s"

// evidenceIndent stands before a line on what a page says, below the page's own.
const evidenceIndent = "                     "

// urlWidth is that of most URLs; longer ones push their note to the right.
const urlWidth = 42

// Terminal attributes (ECMA-48 SGR).
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

var verdictColour = map[record.Verdict]string{
	record.Fetched:     green,
	record.Moved:       green,
	record.Blocked:     yellow,
	record.Later:       cyan,
	record.Missing:     red,
	record.Unreachable: red,
	record.Failed:      red,
	record.RobotsTxt:   dim,
}

func (p *textPrinter) begin(what, userAgent string) {
	fmt.Fprintf(p.w, "Crawling %s as %s\n\n", p.paint(bold, what), p.paint(bold, userAgent))
	fmt.Fprintln(p.w, p.paint(dim, fmt.Sprintf(lineFormat, "time", "waited", fmt.Sprintf("%-11s", "verdict"), "", "URL")))
}

func (p *textPrinter) record(r record.Record) {
	waited, status := "", ""
	if r.Waited >= 0.05 {
		waited = seconds(r.Waited)
	}
	if r.Status != 0 {
		status = fmt.Sprint(r.Status)
	}
	note := p.note(r)
	url := r.URL
	if note != "" {
		url = fmt.Sprintf("%-*s", urlWidth, url)
	}
	verdict := p.paint(verdictColour[r.Verdict], fmt.Sprintf("%-11s", r.Verdict))
	line := fmt.Sprintf(lineFormat, seconds(r.Seconds), waited, verdict, status, url)
	if note != "" {
		line += "  " + note
	}
	fmt.Fprintln(p.w, line)
	for _, e := range r.Evidence() {
		if !e.OfSite || p.tellOnce(r.Host+" "+e.Text) {
			fmt.Fprintln(p.w, evidenceIndent+p.paint(dim, e.Text))
		}
	}
}

// tellOnce reports whether it is called with this text for the first time.
func (p *textPrinter) tellOnce(text string) bool {
	if p.told[text] {
		return false
	}
	if p.told == nil {
		p.told = make(map[string]bool)
	}
	p.told[text] = true
	return true
}

// note is what there is to say about a record beyond its verdict.
func (p *textPrinter) note(r record.Record) string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if d := r.Decision; r.Verdict == record.Blocked && d != nil {
		add("line %d: %s", d.Line, p.paint(bold, record.Printable(fmt.Sprintf("%v: %s", d.Kind, d.Rule))))
	}
	if r.Location != "" {
		add("-> %s", r.Location)
	}
	for _, flag := range r.Flags() {
		add("%s", p.paint(magenta, flag))
	}
	if r.Links > 0 {
		add("%s", record.Count(r.Links, "new link"))
	}
	if r.LinksLeft > 0 {
		add("%s not followed", record.Count(r.LinksLeft, "link"))
	}
	switch {
	case r.Verdict == record.Later && r.Put > 0 && r.Again == 0: // the server did not say when
		add("again later (%d of %d)", r.Put, maxPuts)
	case r.Verdict == record.Later && r.Put > 0:
		add("again in %s (%d of %d)", seconds(r.Again), r.Put, maxPuts)
	case r.Verdict == record.Later:
		add("its turn is in %s", seconds(r.Again))
	case r.Verdict == record.Missing:
		add("given up after %d more tries", r.Put)
	}
	if r.Redirects > 0 {
		add("after %s", record.Count(r.Redirects, "redirect"))
	}
	if r.Error != "" {
		add("%s", record.Printable(r.Error))
	}
	return strings.Join(notes, ", ")
}

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

// uses says how many pages allow and deny a use, and which drafts that was read by.
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

func (p *textPrinter) paint(sgr, text string) string {
	if !p.colour || sgr == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// robotsSummary says in a few words how a robots.txt answered.
func robotsSummary(r record.Record) string {
	switch {
	case r.Error != "":
		return "nothing allowed: " + record.Printable(r.Error)
	case r.Status >= 400:
		return fmt.Sprintf("%d: everything allowed", r.Status)
	case r.Redirects > 0:
		return fmt.Sprintf("%d after %s", r.Status, record.Count(r.Redirects, "redirect"))
	}
	return fmt.Sprint(r.Status)
}

// newPrinter returns a printer of one kind or the other.
func newPrinter(w io.Writer, live, asJSON bool) printer {
	switch {
	case asJSON:
		return newJSONPrinter(w)
	case live:
		return livePrinter{&textPrinter{w: w, colour: os.Getenv("NO_COLOR") == ""}} // https://no-color.org
	}
	return &textPrinter{w: w}
}

// checkedWriter keeps the first error of w, and calls failed then.
type checkedWriter struct {
	w      io.Writer
	err    error
	failed func(error)
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil {
		c.err = err
		c.failed(err)
	}
	return n, err
}

func seconds(s float64) string {
	if d := time.Duration(s * float64(time.Second)); d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", s)
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
