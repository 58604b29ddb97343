package robotstxt

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// maxMemory returns the maximum size of the Rules for a robot according to the
// documentation of Rules.
func maxMemory(f *File, tokens ...string) int {
	limit := 200
	for _, r := range referenceRules(f, tokens...) {
		limit += 16 + len(r.pattern)
		if form := string(match.AppendPattern(nil, r.pattern, syntax.RFC9309)); form != r.pattern {
			limit += len(form)
		}
	}
	for i, a := range f.Rules(tokens...).agents {
		if i > 0 {
			limit += int(unsafe.Sizeof(a)) + len(a.Value)
		}
	}
	return limit
}

// TestRules_Memory checks that rules occupy at most the memory in the
// documentation of Rules.
func TestRules_Memory(t *testing.T) {
	letters := func(i int) string { return string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26)}) }
	for kind, pattern := range map[string]func(i int) string{
		"literal":         func(i int) string { return fmt.Sprintf("/section-%d/page-%d/", i%100, i) },
		"wildcard":        func(i int) string { return fmt.Sprintf("/section-%d/*/page-%d/", i%100, i) },
		"the shortest":    func(i int) string { return "/" },
		"three bytes":     func(i int) string { return "/" + letters(i) },
		"short wildcard":  func(i int) string { return "/*" + letters(i) + "$" },
		"short and long":  func(i int) string { return "/" + letters(i) + strings.Repeat("/long", i%10) },
		"rewritten":       func(i int) string { return fmt.Sprint("/%7E", i) },
		"escaped":         func(i int) string { return fmt.Sprint("/\u00e9", i) },
		"escaped, with *": func(i int) string { return fmt.Sprint("/\u00e9*", i) },
		"not rules":       func(i int) string { return fmt.Sprint("page", i) },
	} {
		for _, n := range []int{0, 1, 2, 5, 60, 1000, 10_000} {
			var b strings.Builder
			b.WriteString("user-agent: *\n")
			for i := range n {
				b.WriteString("disallow: " + pattern(i) + "\n")
			}
			f := parse(b.String())
			rules := f.Rules()
			if size, limit := rules.Size(), maxMemory(f); size > limit {
				t.Errorf("Size with %d rules of the kind %q = %d, want at most %d",
					n, kind, size, limit)
			}
		}
	}
}

// TestRules_MemoryOfFiles checks that Rules do not retain the text of the file,
// although they contain the name of the robot in it.
func TestRules_MemoryOfFiles(t *testing.T) {
	var kept []*Rules
	before := testmain.Heap()
	for i := range 50 {
		f := parse(fmt.Sprintf("User-agent: ExampleBot/1.%d\n"+
			"Disallow: /private/\n"+
			"#%s", i, strings.Repeat("x", 490_000)))
		kept = append(kept, f.Rules("ExampleBot"))
	}
	if grown := testmain.Heap() - before; grown > 2<<20 {
		t.Errorf("the rules of 50 files take %d bytes, want at most 2 MiB", grown)
	}
	if group := kept[7].Match("/private/").Group; len(group) != 1 || group[0].Value != "ExampleBot/1.7" {
		t.Errorf("Match returns the group %v, want ExampleBot/1.7", group)
	}
	runtime.KeepAlive(kept)
}

// TestSharedCorpusMemory does the same as TestRules_Memory, for real files.
func TestSharedCorpusMemory(t *testing.T) {
	c := readCorpus(t)
	var sizes []int
	for _, v := range c.verdicts {
		f := Parse(c.robots[v.id])
		size := f.Rules(v.token).Size()
		sizes = append(sizes, size)
		if limit := maxMemory(f, v.token); size > limit {
			t.Errorf("file %s: Rules(%q).Size() = %d, want at most %d", v.id, v.token, size, limit)
		}
	}
	slices.Sort(sizes)
	median := sizes[len(sizes)/2]
	total := 0
	for _, size := range sizes {
		total += size
	}
	t.Logf("%d groups: median %d bytes, mean %d, 90%% up to %d, most %d",
		len(sizes), median, total/len(sizes), sizes[len(sizes)*9/10], sizes[len(sizes)-1])
	if median >= 1024 {
		t.Errorf("the median file takes %d bytes, want less than 1 KiB", median)
	}
}

// TestAllocations checks that parsing and selecting rules takes few allocations
// (five, and the budget is twice that), and that matching takes none.
func TestAllocations(t *testing.T) {
	if testmain.RaceEnabled {
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
	if n := testing.AllocsPerRun(100, func() { Parse(body).Rules("ExampleBot") }); n > 10 {
		t.Errorf("Parse and Rules make %v allocations for %d bytes, want at most 10", n, len(body))
	}

	rules := Parse(body).Rules("ExampleBot")
	long := "/" + strings.Repeat("%e3%83%84/", 400)
	for _, target := range []string{
		"/section-7/private/x",
		"/x/public-3.html",
		"/%73ection-7/private/x?q=%2F#f",
		"/caf\u00e9",
		"https://example.com/section-7/private/",
		"?q",
		long,
		"/robots%2Etxt",
	} {
		if n := testing.AllocsPerRun(100, func() { rules.Allowed(target) }); n > 0 {
			t.Errorf("Allowed(%.40q) makes %v allocations, want none", target, n)
		}
		if n := testing.AllocsPerRun(100, func() { rules.Match(target) }); n > 0 {
			t.Errorf("Match(%.40q) makes %v allocations, want none", target, n)
		}
	}
	for _, dialect := range []Dialect{Google, Koster1996} {
		rules := dialect.Parse(body).Rules("ExampleBot")
		if n := testing.AllocsPerRun(100, func() { rules.Match(long) }); n > 0 {
			t.Errorf("Match in dialect %d makes %v allocations, want none", dialect, n)
		}
	}
}
