package robotstxt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func patternBytes(f *File, tokens ...string) (n int) {
	for _, r := range twinRules(f, tokens...) {
		n += len(r.pattern)
	}
	return n
}

// TestMemoryOfRules checks that compiled rules take at most 200 bytes plus
// twice the bytes of their patterns. The groups are like those of real sites,
// small and large.
func TestMemoryOfRules(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5, 60, 1000, 10_000} {
		for kind, pattern := range map[string]func(i int) string{
			"literal":  func(i int) string { return fmt.Sprintf("/section-%d/page-%d/", i%100, i) },
			"wildcard": func(i int) string { return fmt.Sprintf("/section-%d/*/page-%d/", i%100, i) },
			"mixed": func(i int) string {
				return fmt.Sprintf("/section-%d/%spage-%d/", i%100, []string{"", "", "", "*/"}[i%4], i)
			},
		} {
			var b strings.Builder
			b.WriteString("user-agent: *\n")
			for i := range n {
				b.WriteString("disallow: " + pattern(i) + "\n")
			}
			f := parse(b.String())
			rules := f.Rules()
			if size, limit := rules.Size(), 2*patternBytes(f)+200; size > limit {
				t.Errorf("%d %s rules take %d bytes, want at most %d", n, kind, size, limit)
			}
			checkSize(t, rules)
		}
	}
}

// TestMemoryOfAllRules checks the bound in the package doc, for groups that
// need more memory than those of TestMemoryOfRules.
func TestMemoryOfAllRules(t *testing.T) {
	letters := func(i int) string { return string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26)}) }
	for kind, pattern := range map[string]func(i int) string{
		"the shortest":    func(i int) string { return "/" },
		"two bytes":       func(i int) string { return "/" + letters(i)[:1] },
		"three bytes":     func(i int) string { return "/" + letters(i) },
		"six bytes":       func(i int) string { return "/" + letters(i) + "xyz" },
		"seven bytes":     func(i int) string { return "/" + letters(i) + "wxyz" },
		"short wildcard":  func(i int) string { return "/*" + letters(i) + "$" },
		"short and long":  func(i int) string { return "/" + letters(i) + strings.Repeat("/long", i%10) },
		"rewritten":       func(i int) string { return fmt.Sprint("/%7E", i) },
		"escaped":         func(i int) string { return fmt.Sprint("/\u00e9", i) },
		"escaped, long":   func(i int) string { return fmt.Sprint(strings.Repeat("/\u00e9", 20), i) },
		"escaped, with *": func(i int) string { return fmt.Sprint("/\u00e9*", i) },
	} {
		for _, n := range []int{1, 8, 9, 20, 32, 33, 34, 60, 1000} {
			var b strings.Builder
			b.WriteString("user-agent: *\n")
			limit := 200
			for i := range n {
				p := pattern(i)
				b.WriteString("disallow: " + p + "\n")
				limit += max(2*len(p), len(p)+6)
			}
			rules := parse(b.String()).Rules()
			for rule := range rules.set.All() {
				if rule.Written != rule.Form {
					limit += len(rule.Form) + 8
				}
			}
			if size := rules.Size(); size > limit {
				t.Errorf("%s: %d rules take %d bytes, want at most %d", kind, n, size, limit)
			}
			checkSize(t, rules)
		}
	}
}

// checkSize checks that Size does not change when rules are compiled, and that
// the rules never take more memory than Size says. Size must not change,
// because a cache adds it to a sum and later subtracts it.
func checkSize(t *testing.T, rules *Rules) {
	t.Helper()
	before, kept := rules.Size(), rules.besides()+rules.set.Kept()
	rules.set.Compile()
	compiled := rules.besides() + rules.set.Kept()
	if after := rules.Size(); after != before || kept > before || compiled > before {
		t.Errorf("Size: %d bytes, and %d of compiled rules; they take %d bytes, and compiled %d", before, after, kept, compiled)
	}
}

// TestSharedCorpusMemory does the same as TestMemoryOfRules, for real files.
// Real rules may take more memory than that test allows, for three reasons.
// User-agent lines after the first are stored too. A pattern whose stored form
// differs from the written one is stored in both forms. And the length of a
// pattern of more than 2047 bytes takes additional bytes.
func TestSharedCorpusMemory(t *testing.T) {
	c := readCorpus(t)
	var sizes []int
	agents, forms, total, kept, budget := 0, 0, 0, 0, 0
	for _, v := range c.verdicts {
		f := Parse(c.robots[v.id])
		rules := f.Rules(v.token)
		size, limit := rules.Size(), 2*patternBytes(f, v.token)+200
		checkSize(t, rules)
		kept += rules.besides() + rules.set.Kept()
		sizes = append(sizes, size)
		total += size
		budget += limit
		ofAgents, ofForms := 0, 0
		for i, a := range rules.agents {
			if i > 0 {
				ofAgents += int(unsafe.Sizeof(a)) + len(a.Value)
			}
		}
		for rule := range rules.set.All() {
			if rule.Written != rule.Form || len(rule.Form) > 2047 {
				ofForms += 13 + len(rule.Form) // 13 bytes are the head of the stored rule and its two lengths
			}
		}
		switch {
		case size <= limit:
		case size <= limit+ofAgents:
			agents++
		case size <= limit+ofAgents+ofForms:
			forms++
		default:
			t.Errorf("%s, %s: %d bytes, want at most %d, and %d for user-agent lines, %d for other forms", v.id, v.token, size, limit, ofAgents, ofForms)
		}
	}
	slices.Sort(sizes)
	median := sizes[len(sizes)/2]
	t.Logf("median %d bytes, 90%% up to %d, most %d, all together %.0f%% of twice their patterns plus 200, and %.0f%% are taken; of %d groups, %d take more for their user-agent lines, %d for patterns in another form",
		median, sizes[len(sizes)*9/10], sizes[len(sizes)-1], 100*float64(total)/float64(budget), 100*float64(kept)/float64(budget), len(sizes), agents, forms)
	if median >= 1024 {
		t.Errorf("the median file takes %d bytes, want less than 1 KiB", median)
	}
	if (agents+forms)*100 > len(sizes) {
		t.Errorf("%d of %d groups take more, want at most 1%%", agents+forms, len(sizes))
	}
}

var raceDetector bool // whether the race detector is on

// TestAllocations checks that parsing and selecting rules takes at most five
// allocations, and that matching takes none.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("SKIPPED: the race detector makes allocations of its own")
	}
	var b strings.Builder
	b.WriteString("# a file of 1.5 KB\nUser-agent: *\nCrawl-delay: 1\n")
	for i := range 45 {
		fmt.Fprintf(&b, "Disallow: /section-%d/private/\n", i)
		if i%3 == 0 {
			fmt.Fprintf(&b, "Allow: /*/public-%d.html$\n", i)
		}
	}
	b.WriteString("\nSitemap: https://example.com/sitemap.xml\n")
	body := []byte(b.String())
	if n := testing.AllocsPerRun(100, func() { Parse(body).Rules("ExampleBot") }); n > 5 {
		t.Errorf("a file of %d bytes takes %v allocations", len(body), n)
	}

	rules := Parse(body).Rules("ExampleBot")
	long := "/" + strings.Repeat("%e3%83%84/", 400)
	for _, target := range []string{
		"/section-7/private/x", "/x/public-3.html", "/%73ection-7/private/x?q=%2F#f", "/caf\u00e9", "https://example.com/section-7/private/", "?q", long, "/robots%2Etxt",
	} {
		if n := testing.AllocsPerRun(100, func() { rules.Allowed(target) }); n > 0 {
			t.Errorf("Allowed(%.40q): %v allocations", target, n)
		}
		if n := testing.AllocsPerRun(100, func() { rules.Match(target) }); n > 0 {
			t.Errorf("Match(%.40q): %v allocations", target, n)
		}
	}
	for _, dialect := range []Dialect{Google, Koster1996} {
		rules := dialect.Parse(body).Rules("ExampleBot")
		if n := testing.AllocsPerRun(100, func() { rules.Match(long) }); n > 0 {
			t.Errorf("%v: %v allocations", dialect, n)
		}
	}
}
