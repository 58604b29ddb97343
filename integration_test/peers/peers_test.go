//go:build !race

// These tests do not run under the race detector, because they would take two
// minutes. There are no races to find: everything happens in one goroutine.

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The times in this table mean nothing: a microsecond is too short to measure.
func TestTable(t *testing.T) {
	var out strings.Builder
	if err := run(&out, 1, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	for _, want := range []string{"500 KiB", "first verdict", "questions of each file", "typical", "hostile", "growth"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is nothing about %q", want)
		}
	}
}

// If a parser outside this module does not build, the error says what is wrong.
func TestOutsidersThatDoNotBuild(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("COURTESY_PEERS", dir)
	if built, err := outsiders(t.TempDir()); err != nil || len(built) != 0 {
		t.Errorf("of an empty directory: %v, %v", built, err)
	}
	clone := filepath.Join(dir, "grobotstxt")
	if err := os.Mkdir(clone, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, "robots.go"), []byte("package grobotstxt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := outsiders(t.TempDir()); err == nil || !strings.Contains(err.Error(), "AgentAllowed") {
		t.Errorf("of a package without the function: %v", err)
	}
	const agent = "package grobotstxt\n\nfunc AgentAllowed(robots, agent, url string) bool { return true }\n"
	if err := os.WriteFile(filepath.Join(clone, "robots.go"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := outsiders(t.TempDir())
	if err != nil || len(built) != 1 {
		t.Fatalf("%v, %v", built, err)
	}
	if ns, err := built[0].measure(time.Microsecond, firstURL, []string{filepath.Join(clone, "robots.go")}); err != nil || ns <= 0 {
		t.Errorf("%v ns, %v", ns, err)
	}
}

// The speeds of the two parsers can be compared only if their answers are
// nearly the same. Otherwise one parser might be fast because it is wrong.
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
		// Temoto does not anchor wildcards. Where it should compare the lengths
		// of patterns, it compares the lengths of regular expressions. So its
		// verdicts on wildcards may differ.
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
