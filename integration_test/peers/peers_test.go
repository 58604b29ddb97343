//go:build !race

// Under the race detector these take two minutes, and there is nothing for it
// to find: everything here happens in one goroutine.

package main

import (
	"strings"
	"testing"
	"time"
)

// TestTable makes the table once, with measurements too short to be worth
// anything.
func TestTable(t *testing.T) {
	var out strings.Builder
	if err := run(&out, 1, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	for _, want := range []string{"500 KiB", "typical", "hostile", "growth"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is nothing about %q", want)
		}
	}
}

// TestVerdictsOnWorkloads checks that both parsers answer alike where speed is
// compared, so that neither is fast by answering something else.
func TestVerdictsOnWorkloads(t *testing.T) {
	for _, m := range matchWorkloads() {
		if m.rules > 100 {
			continue
		}
		differ := 0
		for _, url := range m.urls {
			ours, _ := parsers[0].allowed(m.robots, "ExampleBot", "http://example.com"+url)
			theirs, err := parsers[1].allowed(m.robots, "ExampleBot", "http://example.com"+url)
			if err != nil {
				t.Fatal(err)
			}
			if ours != theirs {
				differ++
			}
		}
		// Temoto does not anchor wildcards and measures them by their regular
		// expressions.
		if differ*5 > len(m.urls) || differ > 0 && strings.HasPrefix(m.name, "literal") {
			t.Errorf("%s: %d of %d verdicts differ", m.name, differ, len(m.urls))
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, m := range matchWorkloads() {
		ours, temoto := m.matchers()
		for name, match := range map[string]func(){"courtesy": ours, "temoto": temoto} {
			b.Run(m.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					match()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(m.urls)), "ns/URL")
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	files, err := parseWorkloads()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		for name, parse := range map[string]func(){"courtesy": f.parseOurs, "temoto": f.parseTemoto} {
			b.Run(f.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(f.size()))
				b.ReportAllocs()
				for b.Loop() {
					parse()
				}
			})
		}
	}
}
