package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

// The first verdict is what a broad crawl needs for each origin. To get it, the
// crawl reads a file, selects the rules, and decides about one URL.

const firstPath, firstURL = "/news/archive-search-1234.html", "http://example.com/news/archive-search-1234.html"

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

type contender struct {
	name    string
	measure func(p parseWorkload, files []string) (float64, error)
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
	contenders := []contender{
		{"courtesy", func(p parseWorkload, _ []string) (float64, error) { return measureTime(atLeast, p.firstOurs), nil }},
		{"temoto", func(p parseWorkload, _ []string) (float64, error) { return measureTime(atLeast, p.firstTemoto), nil }},
	}
	built, err := outsiders(dir)
	if err != nil {
		return err
	}
	for _, o := range built {
		contenders = append(contenders, contender{o.name, func(_ parseWorkload, files []string) (float64, error) {
			return o.measure(atLeast, firstURL, files)
		}})
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nfirst verdict\tbytes\tparser\ttime\tof courtesy's\tfrom\tto\t")
	for i, class := range classes {
		var files []string
		for j, body := range class.bodies {
			file := filepath.Join(dir, fmt.Sprintf("%d-%d.txt", i, j))
			if err := os.WriteFile(file, body, 0o600); err != nil {
				return err
			}
			files = append(files, file)
		}
		times := make([][]float64, len(contenders))
		for range rounds {
			for k, c := range contenders {
				t, err := c.measure(class, files)
				if err != nil {
					return err
				}
				times[k] = append(times[k], t)
			}
		}
		for k, c := range contenders {
			ratios := make([]float64, rounds)
			for r := range ratios {
				ratios[r] = times[k][r] / times[0][r]
			}
			slices.Sort(ratios)
			fmt.Fprintf(w, "%s\t%d\t%s\t%.1f µs\t%.1f\t%.1f\t%.1f\t\n", class.name, class.size(), c.name,
				median(times[k])/1e3, median(ratios), ratios[rounds/4], ratios[rounds*3/4])
		}
	}
	return w.Flush()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// printQuestions prints how long two parsers take to read a file and to decide
// about n URLs, for growing n. The growth shows how much of the time goes to
// reading the file.
func printQuestions(out io.Writer, class parseWorkload, rounds int, atLeast time.Duration) {
	urls := crawlWorkload("", 45, 15).urls
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%s: questions of each file\tcourtesy\ttemoto\ttemoto/courtesy\t\n", class.name)
	for _, n := range []int{1, 3, 10, 30, 100, 300, 1000} {
		ours, theirs := compare(max(1, rounds/5), atLeast, func() {
			for _, b := range class.bodies {
				rules := courtesy.Parse(b).Rules("ExampleBot")
				for i := range n {
					rules.Allowed(urls[i%len(urls)])
				}
			}
		}, func() {
			for _, b := range class.bodies {
				data, err := robotstxt.FromBytes(b)
				if err != nil {
					continue
				}
				group := data.FindGroup("ExampleBot")
				for i := range n {
					group.Test(urls[i%len(urls)])
				}
			}
		})
		per := float64(len(class.bodies)) * 1e3
		fmt.Fprintf(w, "%d\t%.1f µs\t%.1f µs\t%.1f\t\n", n, ours/per, theirs/per, theirs/ours)
	}
	w.Flush()
}
