package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

// The first verdict is what a broad crawl needs for each origin. To get it, the
// crawl reads a file, selects the rules, and decides about one URL.

const (
	firstPath = "/news/archive-search-1234.html"
	firstURL  = "http://example.com" + firstPath
)

func (p parseWorkload) firstOurs() {
	for _, b := range p.bodies {
		courtesy.Parse(b).Rules("ExampleBot").Allowed(firstURL)
	}
}

func (p parseWorkload) firstTemoto() {
	for _, b := range p.bodies {
		if data, err := robotstxt.FromBytes(b); err == nil {
			data.FindGroup("ExampleBot").Test(firstPath)
		}
	}
}

// A contender is a parser whose first verdicts are measured.
type contender struct {
	name string

	// measure returns the time for one pass over the files of a class, in
	// nanoseconds. paths are the names of these files.
	measure func(class parseWorkload, paths []string) (float64, error)
}

// contenders returns the parsers. The first is Courtesy. Programs for parsers
// outside this module are built in dir.
func contenders(dir string, atLeast time.Duration) ([]contender, error) {
	all := []contender{
		{"courtesy", func(class parseWorkload, _ []string) (float64, error) {
			return measureTime(atLeast, class.firstOurs), nil
		}},
		{"temoto", func(class parseWorkload, _ []string) (float64, error) {
			return measureTime(atLeast, class.firstTemoto), nil
		}},
	}
	built, err := outsiders(dir)
	if err != nil {
		return nil, err
	}
	for _, o := range built {
		all = append(all, contender{o.name, func(_ parseWorkload, paths []string) (float64, error) {
			return o.measure(atLeast, firstURL, paths)
		}})
	}
	return all, nil
}

// firstVerdicts prints how long each parser takes for the first verdict on each
// class of files. It prints the median time of all rounds. It also divides the
// time of each round by Courtesy's time in that round, and prints the median
// and the quartiles of these ratios.
func firstVerdicts(out io.Writer, classes []parseWorkload, rounds int, atLeast time.Duration) error {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	parsers, err := contenders(dir, atLeast)
	if err != nil {
		return err
	}
	w := newTable(out)
	fmt.Fprintln(w, "\nfirst verdict\tbytes\tparser\ttime\tof courtesy's\tfrom\tto\t")
	for i, class := range classes {
		paths, err := class.writeFiles(dir, i)
		if err != nil {
			return err
		}
		times, err := measureRounds(parsers, class, paths, rounds)
		if err != nil {
			return err
		}
		for k, parser := range parsers {
			ratios := make([]float64, rounds)
			for r := range ratios {
				ratios[r] = times[k][r] / times[0][r]
			}
			slices.Sort(ratios)
			fmt.Fprintf(w, "%s\t%d\t%s\t%.1f µs\t%.1f\t%.1f\t%.1f\t\n",
				class.name, class.size(), parser.name,
				median(times[k])/1e3, median(ratios), ratios[rounds/4], ratios[rounds*3/4])
		}
	}
	return w.Flush()
}

// writeFiles writes the files of the i-th class to dir, and returns their
// paths.
func (p parseWorkload) writeFiles(dir string, i int) (paths []string, err error) {
	for j, body := range p.bodies {
		path := filepath.Join(dir, fmt.Sprintf("%d-%d.txt", i, j))
		if err := os.WriteFile(path, body, 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// measureRounds measures the parsers in turn, and returns the times of each.
func measureRounds(parsers []contender, class parseWorkload, paths []string, rounds int) ([][]float64, error) {
	times := make([][]float64, len(parsers))
	for range rounds {
		for k, parser := range parsers {
			t, err := parser.measure(class, paths)
			if err != nil {
				return nil, err
			}
			times[k] = append(times[k], t)
		}
	}
	return times, nil
}

// median returns the middle of the sorted values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// printQuestions prints how long two parsers take to read a file and to decide
// about n URLs, for growing n. The growth shows how much of the time goes to
// reading the file.
func printQuestions(out io.Writer, class parseWorkload, rounds int, atLeast time.Duration) {
	w := newTable(out)
	defer w.Flush()
	fmt.Fprintf(w, "\n%s: questions of each file\tcourtesy\ttemoto\ttemoto/courtesy\t\n", class.name)
	for _, n := range []int{1, 3, 10, 30, 100, 300, 1000} {
		decideOurs, decideTemoto := class.questions(n)
		ours, theirs := compare(max(1, rounds/5), atLeast, decideOurs, decideTemoto)
		perFile := float64(len(class.bodies)) * 1e3
		fmt.Fprintf(w, "%d\t%.1f µs\t%.1f µs\t%.1f\t\n", n, ours/perFile, theirs/perFile, theirs/ours)
	}
}

// questions returns functions with which two parsers read each file and decide
// about n URLs.
func (p parseWorkload) questions(n int) (ours, temoto func()) {
	urls := crawlWorkload("", 45, 15).urls
	ours = func() {
		for _, b := range p.bodies {
			rules := courtesy.Parse(b).Rules("ExampleBot")
			for i := range n {
				rules.Allowed(urls[i%len(urls)])
			}
		}
	}
	temoto = func() {
		for _, b := range p.bodies {
			data, err := robotstxt.FromBytes(b)
			if err != nil {
				continue
			}
			group := data.FindGroup("ExampleBot")
			for i := range n {
				group.Test(urls[i%len(urls)])
			}
		}
	}
	return ours, temoto
}
