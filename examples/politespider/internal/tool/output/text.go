package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A textPrinter writes a line for each record, and the summary as tables. On a
// terminal, it uses colors and styles, and shows a progress line below the
// records.
type textPrinter struct {
	w       io.Writer
	live    bool
	color   bool
	printed map[string]bool // notes about hosts that were already printed
}

// evidenceIndent is the indentation of the lines below a record.
const evidenceIndent = "                     "

// urlWidth is the width of the URL column. Most URLs fit. A longer one pushes
// its note to the right.
const urlWidth = 42

// These are codes for text on a terminal (ECMA-48, SGR).
const (
	bold    = "1"
	dim     = "2"
	magenta = "35"
)

func (p *textPrinter) begin(what, userAgent string) {
	fmt.Fprintf(p.w, "Crawling %s as %s\n\n", p.paint(bold, what), p.paint(bold, userAgent))
	heading := columns("time", "waited", fmt.Sprintf("%-11s", "verdict"), "", "URL", "")
	fmt.Fprintln(p.w, p.paint(dim, heading))
}

// columns returns a line of the output, without spaces at its end.
func columns(time, waited, verdict, status, url, note string) string {
	const format = "%7s  %7s  %s  %4s  %-*s  %s"
	return strings.TrimRight(fmt.Sprintf(format, time, waited, verdict, status, urlWidth, url, note), " ")
}

func (p *textPrinter) record(r record.Record) {
	p.erase()
	waited := ""
	if r.Waited >= 0.05 {
		waited = seconds(r.Waited)
	}
	verdict := p.paint(r.Verdict.Color(), fmt.Sprintf("%-11s", r.Verdict))
	fmt.Fprintln(p.w, columns(seconds(r.Seconds), waited, verdict, status(r), r.URL, p.note(r)))
	for _, e := range r.Evidence() {
		if e.OfSite {
			p.printOnce(r.Host, e.Text)
		} else {
			p.printBelow(e.Text)
		}
	}
	for _, request := range r.Requests {
		if signature := request.RequestedSignature; signature != "" {
			p.printOnce(r.Host, "Accept-Signature: the server "+signature)
		}
	}
}

// printOnce prints a text about a host, unless it was printed before.
func (p *textPrinter) printOnce(host, text string) {
	if key := host + " " + text; !p.printed[key] {
		p.printed[key] = true
		p.printBelow(text)
	}
}

// printBelow prints a text below a record.
func (p *textPrinter) printBelow(text string) {
	fmt.Fprintln(p.w, evidenceIndent+p.paint(dim, text))
}

// note returns the details of a record beyond its verdict, such as the rule or
// the error.
func (p *textPrinter) note(r record.Record) string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if d := r.Decision; r.Verdict == record.Disallowed && d != nil {
		rule := record.Printable(fmt.Sprintf("%v: %s", d.Kind, d.Rule))
		add("line %d: %s", d.Line, p.paint(bold, rule))
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
	if r.Verdict == record.PutOff {
		add("retry in %s (try %d of %d)", seconds(r.RetryIn), r.Tries+1, record.MaxTries)
	}
	notes = append(notes, r.Circumstances()...)
	return strings.Join(notes, ", ")
}

func status(r record.Record) string {
	if r.Status == 0 {
		return ""
	}
	return fmt.Sprint(r.Status)
}

// paint returns the text in the style of an SGR code, if the output has colors.
func (p *textPrinter) paint(sgr, text string) string {
	if !p.color || sgr == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// seconds formats a number of seconds.
func seconds(s float64) string {
	if d := record.Duration(s); d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", s)
}

// progressPeriod is the time between two updates of the progress line.
const progressPeriod = 100 * time.Millisecond

// progressWidth is the maximum length of the progress line. A longer line might
// wrap, and then could not be erased.
const progressWidth = 77

// progress prints the progress line.
func (p *textPrinter) progress(soFar record.Summary, q frontier.State) {
	line := fmt.Sprintf("%d fetched", soFar.Fetched)
	if soFar.Fetched > 0 {
		line += fmt.Sprintf(" (%.1f/s)", float64(soFar.Fetched)/max(soFar.Seconds, 0.1))
	}
	line += fmt.Sprintf(", %d disallowed, %d queued, %s waiting",
		soFar.Disallowed, q.Queued+q.Out, record.Count(q.Hosts, "host"))
	if q.Next != "" {
		line += fmt.Sprintf("; %s in %s", q.Next, seconds(q.Wait.Seconds()))
	}
	if runes := []rune(line); len(runes) > progressWidth {
		line = string(runes[:progressWidth])
	}
	fmt.Fprintf(p.w, "%s  %s\r", cli.EraseLine, p.paint(dim, line))
}

// erase erases the progress line.
func (p *textPrinter) erase() {
	if p.live {
		fmt.Fprint(p.w, cli.EraseLine)
	}
}
