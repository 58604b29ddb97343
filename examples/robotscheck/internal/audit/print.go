package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// newSummary returns the last object that -json prints.
func newSummary(r *audit.Result, doubtful []robots.Doubtful) map[string]any {
	s := map[string]any{
		"requests":   r.Requests,
		"violations": r.Violations,
		"robots":     len(r.Robots),
	}
	for _, name := range []string{
		"unaudited", "not_shown", "lines", "broken", "cut", "jumps", "ignored", "anonymous", "unnamed",
	} {
		s[name] = r.Counts[name]
	}
	spans := []map[string]any{}
	for _, one := range r.Spans {
		spans = append(spans, map[string]any{
			"host":     one.Name,
			"from":     one.First,
			"to":       one.Last,
			"requests": one.Requests,
		})
	}
	records := []map[string]any{}
	overridden := 0
	agreed := 0
	for _, one := range r.Records {
		record := map[string]any{"name": one.Name, "head": one.Head}
		for _, name := range []string{"lines", "both", "only_record", "only_log"} {
			record[name] = one.Counts[name]
		}
		records = append(records, record)
		overridden += one.Counts["overridden"]
		agreed += one.Counts["agreed"]
	}
	s["spans"] = spans
	s["records"] = records
	s["overridden"] = overridden
	s["agreed"] = agreed
	s["doubtful"] = append([]robots.Doubtful{}, doubtful...) // a list, even if there are none
	return s
}

// isPartial reports whether so many lines were not read or not judged that the
// absence of a violation proves nothing.
func isPartial(r *audit.Result) bool {
	n := r.Counts
	if r.Requests == 0 || hasNoAgents(r) {
		return true
	}
	if n["unaudited"] > 0 || n["cut"] > 0 {
		return true
	}
	return n["broken"] > 0 && n["broken"]*100 >= n["lines"] // 1 % or more
}

// hasNoAgents reports whether no line contains a User-Agent, so that robots and
// browsers are indistinguishable.
func hasNoAgents(r *audit.Result) bool {
	return r.Requests > 0 && r.Counts["unnamed"] == r.Requests
}

// kinds are the kinds of violation, in the order of the columns of the tables.
var kinds = []string{"disallowed", "stale", "before-robots-txt", "gap", "retry-after"}

// The maximum numbers of entries in the lists of the text output.
const (
	maxRobots   = 50
	maxHosts    = 20
	maxSpans    = 20
	maxDoubts   = 3
	maxBreaches = 50
)

// printText prints the result. If verbose is set, the violations have already
// been printed.
func printText(w io.Writer, r *audit.Result, found *breaches, verbose bool, all notes) {
	if verbose && r.Violations > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s, %s, %s\n",
		cli.Count(r.Requests, "request"),
		cli.Count(len(r.Robots), "robot"),
		cli.Count(r.Violations, "violation"))
	if !verbose {
		printBreaches(w, found)
	}
	printTables(w, r)
	for _, note := range all {
		fmt.Fprintf(w, "\n%s\n", note)
	}
}

// printBreaches prints, for each robot and rule, how often the rule was broken
// and an example.
func printBreaches(w io.Writer, found *breaches) {
	for _, one := range found.all[:min(len(found.all), maxBreaches)] {
		robot := command.Printable(one.Robot)
		fmt.Fprintf(w, "\n%s  %s\n  %s\n", robot, one, violationLine(one.Violation))
	}
	if n := len(found.all) - maxBreaches; n > 0 {
		more := cli.Count(n, "more broken rule")
		fmt.Fprintf(w, "\n… and %s; use -v, -json or -html to see all\n", more)
	}
}

// printTables prints a table of the robots and, if there are any, tables of the
// hosts and of the spans of time without a robots.txt.
func printTables(w io.Writer, r *audit.Result) {
	robots := table[*audit.Tally]{
		noun: "robot",
		max:  maxRobots,
		heading: slices.Concat(
			[]string{"robot", "requests", "robots.txt"},
			kinds,
			[]string{"shortest gap", "Crawl-delay", "unaudited", "addresses"}),
		row: robotRow,
	}
	robots.print(w, r.Robots)
	printAddresses(w, r.Robots[:min(len(r.Robots), maxRobots)])
	if len(r.Hosts) > 1 {
		hosts := table[*audit.Tally]{
			noun:    "host",
			max:     maxHosts,
			heading: slices.Concat([]string{"host", "requests"}, kinds),
			row:     hostRow,
		}
		hosts.print(w, r.Hosts)
	}
	spans := table[audit.Tally]{
		noun:    "span",
		max:     maxSpans,
		heading: []string{"unaudited: no robots.txt is known", "from", "to", "requests"},
		row:     spanRow,
	}
	spans.print(w, r.Spans)
}

func robotRow(robot *audit.Tally) []string {
	return slices.Concat(
		[]string{
			command.Printable(robot.Name),
			cli.Thousands(robot.Requests),
			cli.Thousands(robot.Counts["fetches"]),
		},
		countCells(robot.Counts),
		[]string{
			formatGap(robot.ShortestGap),
			formatCrawlDelay(robot.CrawlDelay),
			cli.Thousands(robot.Counts["unaudited"]),
			cli.Thousands(len(robot.Addresses)),
		})
}

func hostRow(host *audit.Tally) []string {
	name := command.Printable(hostName(host.Name))
	return append([]string{name, cli.Thousands(host.Requests)}, countCells(host.Counts)...)
}

func spanRow(s audit.Tally) []string {
	return []string{
		command.Printable(hostName(s.Name)),
		formatTime(s.First),
		formatTime(s.Last),
		cli.Thousands(s.Requests),
	}
}

// printAddresses prints the addresses of the robots that have several.
func printAddresses(w io.Writer, robots []*audit.Tally) {
	separator := "\n"
	for _, robot := range robots {
		if len(robot.Addresses) > 1 {
			addresses := printableAddresses(robot.Addresses)
			fmt.Fprintf(w, "%s%s  %s\n", separator, command.Printable(robot.Name), addresses)
			separator = ""
		}
	}
}

// A table describes how a list of T is printed.
type table[T any] struct {
	noun    string // for one entry
	max     int    // number of rows
	heading []string
	row     func(T) []string
}

// print prints the first t.max entries of the list, and the number of the
// others.
func (t table[T]) print(w io.Writer, list []T) {
	rows := [][]string{t.heading}
	for _, one := range list[:min(len(list), t.max)] {
		rows = append(rows, t.row(one))
	}
	command.Table(w, rows)
	if n := len(list) - t.max; n > 0 {
		fmt.Fprintf(w, "… and %s; use -json to see all\n", cli.Count(n, "more "+t.noun))
	}
}

// notes are sentences about what a result does not show in its tables.
type notes []string

// newNotes returns notes about the records, about requests that could not be
// read or judged, and about the doubtful files. faults are the first faults in
// the records, or nil if they are shown elsewhere.
func newNotes(r *audit.Result, faults []string, doubtful []robots.Doubtful) notes {
	var all notes
	recordFaults := all.addRecords(r.Records, faults)
	all.addInputs(r, recordFaults)
	all.addDoubtful(doubtful)
	return all
}

func (s *notes) add(format string, args ...any) {
	*s = append(*s, fmt.Sprintf(format, args...))
}

// addIf adds a note if n, the number of things that it is about, is positive.
func (s *notes) addIf(n int, format string, args ...any) {
	if n > 0 {
		s.add(format, args...)
	}
}

// addRecords adds notes about the records, and returns the number of their
// faults.
func (s *notes) addRecords(records []*audit.Tally, faults []string) (total int) {
	overridden := 0
	agreed := 0
	for _, record := range records {
		s.addRecord(record)
		total += record.Counts["faults"]
		overridden += record.Counts["overridden"]
		agreed += record.Counts["agreed"]
	}
	for _, fault := range faults {
		s.add("%s", command.Printable(fault))
	}
	if len(faults) > 0 {
		more := total - len(faults)
		s.addIf(more, "… and %s in the record, on standard error", cli.Count(more, "more fault"))
	}
	s.addIf(overridden, "%s obeyed the operator's file, not the site's.",
		cli.Count(overridden, "request"))
	s.addIf(agreed, "%s kept a Crawl-delay that, according to the record, "+
		"was agreed with the site's owner.", cli.Count(agreed, "request"))
	return total
}

func (s *notes) addRecord(record *audit.Tally) {
	name := command.Printable(record.Name)
	n := record.Counts
	s.add("%s: %s. The last one has the hash %s", name, cli.Count(n["lines"], "line"), record.Head)
	s.addIf(n["changed"], "%s was changed in %s.", name, cli.Count(n["changed"], "place"))
	s.addIf(n["contradicts"], "%s contradicts itself, or the log, in %s.",
		name, cli.Count(n["contradicts"], "place"))
	s.addIf(n["both"]+n["only_record"]+n["only_log"],
		"%s are in the record and in the log, %s only in the record, %s only in the log.",
		cli.Count(n["both"], "request"),
		cli.Thousands(n["only_record"]),
		cli.Thousands(n["only_log"]))
}

// addInputs adds notes about what was not read or judged. recordFaults is the
// number of faults of records, which have notes of their own.
func (s *notes) addInputs(r *audit.Result, recordFaults int) {
	n := r.Counts
	broken := n["broken"] - recordFaults
	percent := 100 * float64(broken) / float64(max(n["lines"], broken, 1))
	s.addIf(broken, "%s could not be read (%.1f %% of all).",
		linesOrRecords(broken, "broken "), percent)
	s.addIf(n["jumps"], "%s out of order by more than 90 s: checks that depend on the order were skipped.",
		linesOrRecords(n["jumps"], ""))
	if hasNoAgents(r) {
		s.add("No line contains a User-Agent, so requests of robots cannot be recognized. " +
			"Log the User-Agent.")
	}
	s.addIf(n["anonymous"], "%s of robots whose line has no address of a client, or only that of a proxy: "+
		"checks that depend on the order were skipped.",
		cli.Count(n["anonymous"], "request"))
	s.addIf(n["ignored"], "%s ignored because of -ignore.", cli.Count(n["ignored"], "request"))
	s.addIf(n["not_shown"], "%s not shown: their robots may have fetched robots.txt "+
		"before this log begins, or from a cache.", cli.Count(n["not_shown"], "page"))
	cut := n["cut"] - recordFaults
	s.addIf(cut, "%s not read to the end.", cli.Count(cut, "input"))
}

func (s *notes) addDoubtful(doubtful []robots.Doubtful) {
	for _, d := range doubtful[:min(len(doubtful), maxDoubts)] {
		s.add("%v", d)
	}
	more := len(doubtful) - maxDoubts
	s.addIf(more, "… and %s; -json has all", cli.Count(more, "more doubtful file"))
}

// hostName returns the name of a host, which may be unknown.
func hostName(name string) string { return cmp.Or(name, "the site") }

// countCells returns the cells for the kinds of violation.
func countCells(counts map[string]int) (cells []string) {
	for _, kind := range kinds {
		cells = append(cells, cli.Thousands(counts[kind]))
	}
	return cells
}

// violationLine describes a violation in one line.
func violationLine(v audit.Violation) string {
	parts := []string{formatTime(v.Time), command.Printable(v.Robot)}
	if v.Address != "" {
		parts = append(parts, command.Printable(v.Address))
	}
	parts = append(parts, command.Printable(target(v)), v.Kind+": "+reason(v))
	return strings.Join(parts, "  ")
}

// reason describes the rule that was broken, and how.
func reason(v audit.Violation) string {
	rule := "robots.txt was a 5xx, which forbids everything"
	if v.Line > 0 {
		rule = fmt.Sprintf("line %d, %s", v.Line, command.Printable(v.Rule))
	}
	switch v.Kind {
	case "disallowed":
		return rule
	case "stale":
		return fmt.Sprintf("%s; robots.txt was last requested at %s, %s before",
			rule, formatTime(v.Previous), formatDuration(v.Gap))
	case "gap":
		return fmt.Sprintf("%s after the page at %s; the Crawl-delay is %s (line %d)",
			formatDuration(v.Gap), formatTime(v.Previous), formatDuration(v.Want), v.Line)
	case "retry-after":
		return fmt.Sprintf("%s after the response at %s with a Retry-After of %s",
			formatDuration(v.Gap), formatTime(v.Previous), formatDuration(v.Want))
	}
	return "before robots.txt was fetched"
}

// formatGap formats the shortest gap of a robot, which is negative if there was
// none.
func formatGap(gap time.Duration) string {
	if gap < 0 {
		return "–"
	}
	return formatDuration(gap)
}

// formatCrawlDelay formats a Crawl-delay, which is 0 if there was none.
func formatCrawlDelay(d time.Duration) string { return formatGap(cmp.Or(d, -1)) }

// formatDuration returns a duration in days, hours or seconds, such as "1.5 s".
func formatDuration(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
	if d >= 2*time.Hour {
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	seconds := strings.TrimRight(fmt.Sprintf("%.3f", d.Seconds()), "0")
	return strings.TrimSuffix(seconds, ".") + " s"
}

// target returns the URL that the robot requested. If only the path is known,
// target returns the host and the path. The host may be empty.
func target(v audit.Violation) string {
	if strings.HasPrefix(v.URL, "/") {
		return v.Host + v.URL
	}
	return v.URL
}
