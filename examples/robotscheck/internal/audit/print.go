package audit

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// A summary is the last object that -json prints.
type summary struct {
	Requests   int    `json:"requests"`
	Violations int    `json:"violations"`
	Robots     int    `json:"robots"`
	Unaudited  int    `json:"unaudited"`
	NotShown   int    `json:"not_shown"`
	Lines      int    `json:"lines"`
	Broken     int    `json:"broken"`
	Overridden int    `json:"overridden,omitempty"`
	Cut        int    `json:"cut,omitempty"`
	Jumps      int    `json:"jumps,omitempty"`
	Spans      []span `json:"spans,omitempty"`

	Records  []record          `json:"records,omitempty"`
	Doubtful []robots.Doubtful `json:"doubtful,omitempty"`
}

type span struct {
	Host     string    `json:"host"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Requests int       `json:"requests"`
}

func last(r *audit.Result, doubtful []robots.Doubtful) summary {
	s := summary{Requests: r.Requests, Violations: r.Violations, Robots: len(r.Robots), Unaudited: r.Unaudited, NotShown: r.NotShown, Lines: r.Lines, Broken: r.Broken, Cut: r.Cut, Jumps: r.Jumps, Doubtful: doubtful}
	for _, one := range r.Spans {
		s.Spans = append(s.Spans, span{one.Name, one.First, one.Last, one.Requests})
	}
	for _, one := range r.Records {
		s.Overridden += one.Overridden
		s.Records = append(s.Records, record{one.Name, one.Lines, one.Head, one.Both, one.OnlyRecord, one.OnlyLog})
	}
	return s
}

// isPartial reports whether so much was not read or not judged that nothing is
// said by not finding a violation.
func isPartial(r *audit.Result) bool {
	return r.Unaudited > 0 || r.Cut > 0 || r.Requests == 0 || r.Broken > 0 && r.Broken*100 >= r.Lines
}

// kinds are the kinds of violation, in the order of the tables' columns.
var kinds = []audit.Kind{audit.Disallowed, audit.Stale, audit.BeforeRobotsTxt, audit.Gap, audit.RetryAfter}

const (
	shownRobots = 50
	shownHosts  = 20
	shownSpans  = 20
	shownDoubts = 3

	shownBreaches = 50
)

func printText(w io.Writer, r *audit.Result, found *breaches, verbose bool, notes []string) {
	fmt.Fprintf(w, "%s, %s, %s\n", command.Count(r.Requests, "request"), command.Count(len(r.Robots), "robot"), command.Count(r.Violations, "violation"))
	if !verbose {
		printBreaches(w, found)
	}
	rows := [][]string{{"robot", "requests", "robots.txt"}}
	rows[0] = append(rows[0], kindNames()...)
	rows[0] = append(rows[0], "shortest gap", "Crawl-delay", "unaudited", "addresses")
	for _, robot := range r.Robots[:min(len(r.Robots), shownRobots)] {
		row := []string{command.Printable(robot.Name), command.Thousands(robot.Requests), command.Thousands(robot.Fetches)}
		row = append(row, counts(robot.Kinds)...)
		row = append(row, interval(robot.ShortestGap, robot.ShortestGap >= 0), interval(robot.CrawlDelay, robot.CrawlDelay > 0), command.Thousands(robot.Unaudited), command.Thousands(robot.Addresses))
		rows = append(rows, row)
	}
	command.Table(w, rows)
	if n := len(r.Robots) - shownRobots; n > 0 {
		fmt.Fprintf(w, "… and %s\n", command.Count(n, "more robot"))
	}
	printAddresses(w, r.Robots)
	if len(r.Hosts) > 1 {
		rows = [][]string{append([]string{"host", "requests"}, kindNames()...)}
		for _, host := range r.Hosts[:min(len(r.Hosts), shownHosts)] {
			rows = append(rows, append([]string{command.Printable(hostName(host.Name)), command.Thousands(host.Requests)}, counts(host.Kinds)...))
		}
		command.Table(w, rows)
		if n := len(r.Hosts) - shownHosts; n > 0 {
			fmt.Fprintf(w, "… and %s\n", command.Count(n, "more host"))
		}
	}
	if len(r.Spans) > 0 {
		rows = [][]string{{"unaudited: no robots.txt is known", "from", "to", "requests"}}
		for _, s := range r.Spans[:min(len(r.Spans), shownSpans)] {
			rows = append(rows, []string{command.Printable(hostName(s.Name)), stamp(s.First), stamp(s.Last), command.Thousands(s.Requests)})
		}
		command.Table(w, rows)
		if n := len(r.Spans) - shownSpans; n > 0 {
			fmt.Fprintf(w, "… and %s\n", command.Count(n, "more span"))
		}
	}
	for _, note := range notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
}

// printBreaches prints, for each robot and rule, how often the rule was broken
// and an example.
func printBreaches(w io.Writer, found *breaches) {
	for _, one := range found.all[:min(len(found.all), shownBreaches)] {
		fmt.Fprintf(w, "\n%s  %s\n  %s\n", command.Printable(one.Robot), one, sentence(one.Violation))
	}
	if n := len(found.all) - shownBreaches; n > 0 {
		fmt.Fprintf(w, "\n… and %s; -v, -json and -html have all\n", command.Count(n, "more broken rule"))
	}
}

// printAddresses names addresses of the robots that have several.
func printAddresses(w io.Writer, robots []*audit.Tally) {
	begin := "\n"
	for _, robot := range robots[:min(len(robots), shownRobots)] {
		if robot.Addresses > 1 {
			fmt.Fprintf(w, "%s%s  %s\n", begin, command.Printable(robot.Name), addresses(robot))
			begin = ""
		}
	}
}

// notes() returns sentences about what the audit could not read or compare, and
// about the doubtful files.
func notes(r *audit.Result, doubtful []robots.Doubtful) (notes []string) {
	broken, cut := r.Broken, r.Cut
	for _, one := range r.Records { // recordNotes tells of their faults
		broken, cut = broken-one.Faults, cut-one.Faults
	}
	if broken > 0 {
		notes = append(notes, fmt.Sprintf("%s: not read. That is %s of all.", linesOrRecords(broken, "broken "), percent(broken, r.Lines)))
	}
	if r.Jumps > 0 {
		notes = append(notes, linesOrRecords(r.Jumps, "")+" out of order by more than 90 s: not judged on order.")
	}
	if r.NotShown > 0 {
		notes = append(notes, command.Count(r.NotShown, "page")+" not shown: their robots may have got robots.txt before this log, or where it does not show.")
	}
	if cut > 0 {
		notes = append(notes, command.Count(cut, "input")+" not read to the end.")
	}
	for _, d := range doubtful[:min(len(doubtful), shownDoubts)] {
		notes = append(notes, d.String())
	}
	if n := len(doubtful) - shownDoubts; n > 0 {
		notes = append(notes, "… and "+command.Count(n, "more doubtful file")+"; -json has all")
	}
	return notes
}

func hostName(s string) string {
	if s == "" {
		return "the site"
	}
	return s
}

func kindNames() (names []string) {
	for _, kind := range kinds {
		names = append(names, string(kind))
	}
	return names
}

func counts(of map[audit.Kind]int) (cells []string) {
	for _, kind := range kinds {
		cells = append(cells, command.Thousands(of[kind]))
	}
	return cells
}

func sentence(v audit.Violation) string {
	from := ""
	if v.Address != "" {
		from = command.Printable(v.Address) + "  "
	}
	return fmt.Sprintf("%s  %s  %s%s  %s: %s", stamp(v.Time), command.Printable(v.Robot), from, command.Printable(target(v)), v.Kind, why(v))
}

func why(v audit.Violation) string {
	rule := "robots.txt was a 5xx, which forbids everything"
	if v.Line > 0 {
		rule = fmt.Sprintf("line %d, %s", v.Line, command.Printable(v.Rule))
	}
	switch v.Kind {
	case audit.Disallowed:
		return rule
	case audit.Stale:
		return fmt.Sprintf("%s; last asked for robots.txt at %s, %s before", rule, stamp(v.Previous), interval(v.Gap, true))
	case audit.Gap:
		return fmt.Sprintf("%s after the page of %s, of %s (line %d)", interval(v.Gap, true), stamp(v.Previous), interval(v.Want, true), v.Line)
	case audit.RetryAfter:
		return fmt.Sprintf("%s after %s, when it was asked to stay away for %s", interval(v.Gap, true), stamp(v.Previous), interval(v.Want, true))
	}
	return "before it had robots.txt"
}

// interval formats a duration for people. If known is false, it returns a dash.
func interval(d time.Duration, known bool) string {
	switch {
	case !known:
		return "–"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", d.Seconds()), "0"), ".") + " s"
}

// target returns the URL that the robot asked for. If only the path is known,
// target returns the host and the path. The host may be empty.
func target(v audit.Violation) string {
	if strings.HasPrefix(v.URL, "/") {
		return v.Host + v.URL
	}
	return v.URL
}

// linesOrRecords writes a count of log lines and archive records in words, such
// as "1 broken line or record". kind is "" or a word with a space after it.
func linesOrRecords(n int, kind string) string {
	text := command.Count(n, kind+"line") + " or record"
	if n != 1 {
		text += "s"
	}
	return text
}

// percent writes n as a part of all.
func percent(n, all int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(all, n, 1)))
}
