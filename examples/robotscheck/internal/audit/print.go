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

// summaryOf returns the last object that -json prints.
func summaryOf(r *audit.Result, doubtful []robots.Doubtful) map[string]any {
	s := map[string]any{"requests": r.Requests, "violations": r.Violations, "robots": len(r.Robots)}
	for _, name := range []string{"unaudited", "not_shown", "lines", "broken", "cut", "jumps", "ignored", "anonymous", "unnamed"} {
		s[name] = r.Counts[name]
	}
	spans, records := []map[string]any{}, []map[string]any{}
	for _, one := range r.Spans {
		spans = append(spans, map[string]any{"host": one.Name, "from": one.First, "to": one.Last, "requests": one.Requests})
	}
	overridden, agreed := 0, 0
	for _, one := range r.Records {
		record := map[string]any{"name": one.Name, "head": one.Head}
		for _, name := range []string{"lines", "both", "only_record", "only_log"} {
			record[name] = one.Counts[name]
		}
		records = append(records, record)
		overridden += one.Counts["overridden"]
		agreed += one.Counts["agreed"]
	}
	s["spans"], s["records"] = spans, records
	s["overridden"], s["agreed"] = overridden, agreed
	s["doubtful"] = append([]robots.Doubtful{}, doubtful...) // a list, even if there are none
	return s
}

// isPartial reports whether so much was not read or not judged that nothing is
// said by not finding a violation.
func isPartial(r *audit.Result) bool {
	n := r.Counts
	isBroken := n["broken"] > 0 && n["broken"]*100 >= n["lines"]
	return n["unaudited"] > 0 || n["cut"] > 0 || r.Requests == 0 || isBroken || hasNoAgents(r)
}

// hasNoAgents reports whether no line names a User-Agent, so that robots and
// browsers are indistinguishable.
func hasNoAgents(r *audit.Result) bool {
	return r.Requests > 0 && r.Counts["unnamed"] == r.Requests
}

// kinds are the kinds of violation, in the order of the tables' columns.
var kinds = []string{"disallowed", "stale", "before-robots-txt", "gap", "retry-after"}

const (
	shownRobots = 50
	shownHosts  = 20
	shownSpans  = 20
	shownDoubts = 3

	shownBreaches = 50
)

// printText prints the result. The caller has printed the violations if verbose
// is set.
func printText(w io.Writer, r *audit.Result, found *breaches, verbose bool, notes []string) {
	if verbose && r.Violations > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s, %s, %s\n", cli.Count(r.Requests, "request"), cli.Count(len(r.Robots), "robot"), cli.Count(r.Violations, "violation"))
	if !verbose {
		printBreaches(w, found)
	}
	printTables(w, r)
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
		fmt.Fprintf(w, "\n… and %s; use -v, -json or -html to see all\n", cli.Count(n, "more broken rule"))
	}
}

func printTables(w io.Writer, r *audit.Result) {
	heading := slices.Concat([]string{"robot", "requests", "robots.txt"}, kinds, []string{"shortest gap", "Crawl-delay", "unaudited", "addresses"})
	printTable(w, r.Robots, shownRobots, "robot", heading, func(robot *audit.Tally) []string {
		return slices.Concat(
			[]string{command.Printable(robot.Name), cli.Thousands(robot.Requests), cli.Thousands(robot.Counts["fetches"])}, counts(robot.Counts),
			[]string{shortest(robot.ShortestGap), delay(robot.CrawlDelay), cli.Thousands(robot.Counts["unaudited"]), cli.Thousands(len(robot.Addresses))})
	})
	begin := "\n"
	for _, robot := range r.Robots[:min(len(r.Robots), shownRobots)] {
		if len(robot.Addresses) > 1 {
			fmt.Fprintf(w, "%s%s  %s\n", begin, command.Printable(robot.Name), listed(robot.Addresses, command.Printable))
			begin = ""
		}
	}
	if len(r.Hosts) > 1 {
		printTable(w, r.Hosts, shownHosts, "host", slices.Concat([]string{"host", "requests"}, kinds), func(host *audit.Tally) []string {
			return append([]string{command.Printable(hostName(host.Name)), cli.Thousands(host.Requests)}, counts(host.Counts)...)
		})
	}
	heading = []string{"unaudited: no robots.txt is known", "from", "to", "requests"}
	printTable(w, r.Spans, shownSpans, "span", heading, func(s audit.Tally) []string {
		return []string{command.Printable(hostName(s.Name)), stamp(s.First), stamp(s.Last), cli.Thousands(s.Requests)}
	})
}

// printTable prints a table of the first entries of a list, and how many more
// there are. Their name is noun.
func printTable[T any](w io.Writer, list []T, most int, noun string, heading []string, row func(T) []string) {
	rows := [][]string{heading}
	for _, one := range list[:min(len(list), most)] {
		rows = append(rows, row(one))
	}
	command.Table(w, rows)
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(w, "… and %s\n", cli.Count(n, "more "+noun))
	}
}

// notes returns sentences about the records, about what the audit could not
// read or compare, and about the doubtful files. faults are the first faults in
// the records, or nil if they are shown elsewhere.
func notes(r *audit.Result, faults []string, doubtful []robots.Doubtful) (notes []string) {
	add := func(n int, format string, args ...any) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	var all, overridden, agreed int
	for _, one := range r.Records {
		name, n := command.Printable(one.Name), one.Counts
		add(1, "%s: %s. The last one has the hash %s", name, cli.Count(n["lines"], "line"), one.Head)
		add(n["changed"], "%s was changed in %s.", name, cli.Count(n["changed"], "place"))
		add(n["contradicts"], "%s contradicts itself, or the log, in %s.", name, cli.Count(n["contradicts"], "place"))
		add(n["both"]+n["only_record"]+n["only_log"], "%s are in the record and in the log, %s only in the record, %s only in the log.",
			cli.Count(n["both"], "request"), cli.Thousands(n["only_record"]), cli.Thousands(n["only_log"]))
		all += n["faults"]
		overridden += n["overridden"]
		agreed += n["agreed"]
	}
	for _, fault := range faults {
		notes = append(notes, command.Printable(fault))
	}
	if len(faults) > 0 {
		add(all-len(faults), "… and %s in the record, on standard error", cli.Count(all-len(faults), "more fault"))
	}
	add(overridden, "%s obeyed the operator's file, not the site's.", cli.Count(overridden, "request"))
	add(agreed, "%s kept a Crawl-delay that, by the record, was agreed with the site's owner.", cli.Count(agreed, "request"))

	n := r.Counts
	broken, cut := n["broken"]-all, n["cut"]-all // the faults of records are told
	add(broken, "%s: not read. That is %.1f %% of all.", linesOrRecords(broken, "broken "), 100*float64(broken)/float64(max(n["lines"], broken, 1)))
	add(n["jumps"], "%s out of order by more than 90 s: not judged on order.", linesOrRecords(n["jumps"], ""))
	if hasNoAgents(r) {
		add(1, "No line names a User-Agent: it cannot be told which requests are robots'. Log the User-Agent.")
	}
	add(n["anonymous"], "%s of robots by clients that the log does not identify: not judged on order. The line has no address, or that of a proxy.", cli.Count(n["anonymous"], "request"))
	add(n["ignored"], "%s ignored, as -ignore has it.", cli.Count(n["ignored"], "request"))
	add(n["not_shown"], "%s not shown: their robots may have got robots.txt before this log, or where it does not show.", cli.Count(n["not_shown"], "page"))
	add(cut, "%s not read to the end.", cli.Count(cut, "input"))
	for _, d := range doubtful[:min(len(doubtful), shownDoubts)] {
		notes = append(notes, d.String())
	}
	more := len(doubtful) - shownDoubts
	add(more, "… and %s; -json has all", cli.Count(more, "more doubtful file"))
	return notes
}

func hostName(s string) string { return cmp.Or(s, "the site") }

func counts(of map[string]int) (cells []string) {
	for _, kind := range kinds {
		cells = append(cells, cli.Thousands(of[kind]))
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
	case "disallowed":
		return rule
	case "stale":
		return fmt.Sprintf("%s; last asked for robots.txt at %s, %s before", rule, stamp(v.Previous), interval(v.Gap))
	case "gap":
		return fmt.Sprintf("%s after the page of %s, of %s (line %d)", interval(v.Gap), stamp(v.Previous), interval(v.Want), v.Line)
	case "retry-after":
		return fmt.Sprintf("%s after %s, when it was asked to stay away for %s", interval(v.Gap), stamp(v.Previous), interval(v.Want))
	}
	return "before it had robots.txt"
}

// shortest formats the shortest gap of a robot. A negative one means that there
// was none.
func shortest(gap time.Duration) string {
	if gap < 0 {
		return "–"
	}
	return interval(gap)
}

// delay formats a Crawl-delay. 0 means that there was none.
func delay(d time.Duration) string { return shortest(cmp.Or(d, -1)) }

// interval formats a duration for people.
func interval(d time.Duration) string {
	switch {
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
