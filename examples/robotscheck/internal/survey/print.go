package survey

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
)

func (r result) print(w io.Writer) {
	percent := func(n, of int) string { return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(of, 1))) }
	share := func(n int) string { return percent(n, r.Files) }
	fmt.Fprintf(w, "%s, %s\n", output.Count(r.Files, "file"), output.Count(r.Bytes, "byte"))
	for _, class := range slices.Sorted(maps.Keys(r.Without)) {
		fmt.Fprintf(w, "%s: %s, no file\n", class, output.Count(r.Without[class], "answer"))
	}

	table := func(headings ...string) (row func(cells ...string), flush func()) {
		// The first column is text, and the others are numbers. tabwriter
		// aligns all columns alike, so it gets only the numbers.
		var buf bytes.Buffer
		rows := output.Table(&buf, tabwriter.AlignRight)
		var names []string
		row = func(cells ...string) {
			names = append(names, cells[0])
			fmt.Fprintf(rows, "%s\t\n", strings.Join(cells[1:], "\t"))
		}
		row(headings...)
		return row, func() {
			if len(names) == 1 {
				return
			}
			rows.Flush()
			width := 0
			for _, name := range names {
				width = max(width, len(name))
			}
			fmt.Fprintln(w)
			for line := range strings.Lines(buf.String()) {
				fmt.Fprintf(w, "%-*s%s\n", width, names[0], strings.TrimRight(line, " \n"))
				names = names[1:]
			}
		}
	}

	row, flush := table("files with", "files", "share")
	for _, f := range r.Have {
		row(f.What, output.Thousands(f.Files), share(f.Files))
	}
	flush()

	row, flush = table("rules with", "rules", "share", "files", "share")
	for _, p := range r.Rules {
		row(p.What, output.Thousands(p.Rules), percent(p.Rules, r.Rules[0].Rules), output.Thousands(p.Files), share(p.Files))
	}
	flush()

	row, flush = table("sizes", "median", "90%", "99%", "most")
	for _, s := range r.Sizes {
		row(s.What, output.Thousands(s.Median), output.Thousands(s.P90), output.Thousands(s.P99), output.Thousands(s.Max))
	}
	flush()

	row, flush = table("worst problem", "files", "share")
	for _, worst := range []string{"error", "warning", "info", "none"} {
		row(worst, output.Thousands(r.Worst[worst]), share(r.Worst[worst]))
	}
	flush()

	row, flush = table("problem", "severity", "files", "share", "times")
	for _, p := range r.Problems {
		row(string(p.Code), p.Severity, output.Thousands(p.Files), share(p.Files), output.Thousands(p.Times))
	}
	flush()

	row, flush = table("robot", "files", "share", "shut out")
	for _, robot := range r.Robots {
		row(output.Printable(robot.Name), output.Thousands(robot.Files), share(robot.Files), output.Thousands(robot.ShutOut))
	}
	flush()
}
