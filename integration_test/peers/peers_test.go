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

// run prints all tables. Their times mean nothing: a microsecond is too short
// to measure.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out, 1, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	for _, want := range []string{
		"500 KiB",
		"first verdict",
		"questions of each file",
		"typical",
		"hostile",
		"growth",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the printed tables do not contain %q", want)
		}
	}
}

func TestOutsiders_NoClone(t *testing.T) {
	t.Setenv("COURTESY_PEERS", t.TempDir())
	built, err := outsiders(t.TempDir())
	if err != nil || len(built) != 0 {
		t.Errorf("outsiders of an empty directory returned %v and the error %v, want none", built, err)
	}
}

// cloneGrobotstxt writes a package with the name of a parser, and returns the
// path of its file.
func cloneGrobotstxt(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("COURTESY_PEERS", dir)
	clone := filepath.Join(dir, "grobotstxt")
	if err := os.Mkdir(clone, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(clone, "robots.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// If a parser outside this module does not build, the error contains the
// reason.
func TestOutsiders_BuildFails(t *testing.T) {
	cloneGrobotstxt(t, "package grobotstxt\n")
	const want = "AgentAllowed" // the missing function
	if _, err := outsiders(t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("outsiders returned the error %v, want one that contains %s", err, want)
	}
}

func TestOutsiders_Measure(t *testing.T) {
	path := cloneGrobotstxt(t, "package grobotstxt\n\n"+
		"func AgentAllowed(robots, agent, url string) bool { return true }\n")
	built, err := outsiders(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(built) != 1 {
		t.Fatalf("outsiders are %v, want one", built)
	}
	ns, err := built[0].measure(time.Microsecond, firstURL, []string{path})
	if err != nil {
		t.Fatal(err)
	}
	if ns <= 0 {
		t.Errorf("measured time is %v ns, want more than 0", ns)
	}
}

// The speeds of the two parsers can be compared only if their verdicts are
// nearly the same. Otherwise, one parser might be fast because it is wrong.
func TestMatchWorkloads_Verdicts(t *testing.T) {
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
		// of patterns, it compares the lengths of regular expressions. Its
		// verdicts on wildcards may therefore differ.
		limit := len(m.urls) / 5
		if strings.HasPrefix(m.name, "literal") {
			limit = 0
		}
		if differ > limit {
			t.Errorf("%s: %d of %d verdicts of Courtesy and temoto differ, want at most %d", m.name, differ, len(m.urls), limit)
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
