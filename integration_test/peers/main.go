// Command peers compares Courtesy's robots.txt parser with other parsers: their
// speed on the same files and URLs, in one run, and their verdicts on the same
// cases. It prints tables.
//
//	go run .                                  # speed
//	COURTESY_SHARED=../shared go run .        # also real files, and verdicts
//	COURTESY_PEERS=DIR go run .               # also parsers that are cloned there
//
// One peer is always compared: github.com/temoto/robotstxt, by itself and in
// the way colly uses it. Courtesy and this peer are measured alternately. The
// fastest round of each counts, because other load on the machine can only add
// to a time. An exception is the table "first verdict", which shows the median
// of the rounds.
//
// COURTESY_SHARED is a directory with corpus/core and conformance/cases.jsonl.
// A relative path starts at the repository's root.
//
// COURTESY_PEERS is a directory with clones of github.com/jimsmart/grobotstxt,
// github.com/benjaminestes/robots and github.com/google/robotstxt. The clones
// must be named grobotstxt, benjaminestes and google. Any of them may be
// missing. To build google, install g++ and Abseil (Debian's libabsl-dev).
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 15, "number of measurements of each parser")
	atLeast := flag.Duration("time", 5*time.Millisecond, "minimum duration of each measurement")
	flag.Parse()
	if err := run(os.Stdout, *rounds, *atLeast); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures the parsers and prints the tables.
func run(out io.Writer, rounds int, atLeast time.Duration) error {
	files, err := parseWorkloads()
	if err != nil {
		return err
	}
	printParsing(out, files, rounds, atLeast)
	if err := firstVerdicts(out, files, rounds, atLeast); err != nil {
		return err
	}
	printQuestions(out, files[0], rounds, atLeast)
	printMatching(out, rounds, atLeast)
	return printVerdicts(out)
}

// newTable returns a writer that aligns columns, which end with a tab.
func newTable(out io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// printParsing prints how long each parser takes to parse the files and to
// select a group, and how much it allocates for a file.
func printParsing(out io.Writer, files []parseWorkload, rounds int, atLeast time.Duration) {
	w := newTable(out)
	defer w.Flush()
	fmt.Fprintln(w, "parse and select\tbytes\tcourtesy\ttemoto\ttemoto/courtesy\t"+
		"courtesy MB/s\tallocations\tof temoto\t")
	for _, f := range files {
		ours, theirs := compare(rounds, atLeast, f.parseOurs, f.parseTemoto)
		megabytesPerSecond := 1e3 * float64(f.size()) / ours
		fmt.Fprintf(w, "%s\t%d\t%.0f ns\t%.0f ns\t%.1f\t%.0f\t%d\t%d\t\n",
			f.name, f.size(), ours, theirs, theirs/ours, megabytesPerSecond,
			allocations(f.parseOurs)/len(f.bodies), allocations(f.parseTemoto)/len(f.bodies))
	}
}

// printMatching prints how long each parser takes to match a URL, and how that
// time grows with the number of rules.
func printMatching(out io.Writer, rounds int, atLeast time.Duration) {
	w := newTable(out)
	fmt.Fprintln(w, "\nmatch one URL\trules\tcourtesy\ttemoto\ttemoto/courtesy\tbytes kept\tof patterns\t")
	times := make(map[string]float64) // Courtesy's, by the name of the workload
	for _, m := range matchWorkloads() {
		matchOurs, matchTemoto := m.matchers()
		ours, theirs := compare(rounds, atLeast, matchOurs, matchTemoto)
		ours /= float64(len(m.urls))
		theirs /= float64(len(m.urls))
		times[m.name] = ours
		fmt.Fprintf(w, "%s\t%d\t%.1f ns\t%.1f ns\t%.1f\t%d\t%d\t\n",
			m.name, m.rules, ours, theirs, theirs/ours, m.kept(), m.nbytes)
	}
	w.Flush()
	for _, kind := range []string{"literal", "wildcard"} {
		growth := times[kind+" 10000"] / times[kind+" 10"]
		fmt.Fprintf(out, "growth from 10 to 10,000 %s rules: %.2f\n", kind, growth)
	}
}

// printVerdicts prints how many verdicts of each parser on the conformance
// cases are as expected. It prints nothing if there are no cases.
func printVerdicts(out io.Writer) error {
	verdicts, err := compareVerdicts()
	if err != nil || verdicts == nil {
		return err
	}
	w := newTable(out)
	fmt.Fprintln(w, "\nverdicts\tas expected\terrors\tof\t")
	for _, v := range verdicts {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", v.name, v.right, v.errors, v.all)
	}
	return w.Flush()
}
