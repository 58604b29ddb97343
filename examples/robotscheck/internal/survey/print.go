package survey

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

func (t *tally) print(w io.Writer) {
	percent := func(n, of int) string { return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(of, 1))) }
	share := func(n int) string { return percent(n, t.Files) }
	fmt.Fprintf(w, "%s, %s\n", command.Count(t.Files, "file"), command.Count(t.Bytes, "byte"))
	for _, class := range slices.Sorted(maps.Keys(t.Without)) {
		fmt.Fprintf(w, "%s: %s, no file\n", class, command.Count(t.Without[class], "answer"))
	}

	var rows [][]string
	row := func(cells ...string) { rows = append(rows, cells) }
	begin := func(headings ...string) { // prints the table so far, and begins another
		command.Table(w, rows)
		rows = [][]string{headings}
	}
	begin("files with", "files", "share")
	for _, f := range t.Have {
		row(f.What, command.Thousands(f.Files), share(f.Files))
	}
	begin("rules with", "rules", "share", "files", "share")
	for _, p := range t.Rules {
		row(p.What, command.Thousands(p.Rules), percent(p.Rules, t.Rules[0].Rules), command.Thousands(p.Files), share(p.Files))
	}
	begin("sizes", "median", "90%", "99%", "most")
	for _, s := range t.Sizes {
		row(s.What, command.Thousands(s.Median), command.Thousands(s.P90), command.Thousands(s.P99), command.Thousands(s.Max))
	}
	begin("worst problem", "files", "share")
	for _, worst := range []string{"error", "warning", "info", "none"} {
		row(worst, command.Thousands(t.Worst[worst]), share(t.Worst[worst]))
	}
	begin("problem", "severity", "files", "share", "times")
	for _, p := range t.Problems {
		row(string(p.Code), p.Severity, command.Thousands(p.Files), share(p.Files), command.Thousands(p.Times))
	}
	begin("robot", "files", "share", "shut out")
	for _, robot := range t.Robots {
		row(command.Printable(robot.Name), command.Thousands(robot.Files), share(robot.Files), command.Thousands(robot.ShutOut))
	}
	command.Table(w, rows)
}
