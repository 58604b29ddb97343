package robotstxt

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A hostile is a file that was made to slow down matching, and a target for
// which matching takes the most steps.
type hostile struct {
	name      string
	robots    string
	target    string
	isTooMuch bool // whether matching exceeds the limit of steps
}

func hostileFiles() []hostile {
	// file returns a file with n rules.
	file := func(n int, pattern func(i int) string) string {
		var b strings.Builder
		b.WriteString("user-agent: *\n")
		for i := range n {
			b.WriteString("disallow: " + pattern(i) + "\n")
		}
		return b.String()
	}
	// letters returns n letters, which are the digits of i in base 26.
	letters := func(i, n int) string {
		s := make([]byte, n)
		for j := range s {
			s[j] = byte('a' + i%26)
			i /= 26
		}
		return string(s)
	}
	// starred returns n letters with a star between each two.
	starred := func(i, n int) string { return strings.Join(strings.Split(letters(i, n), ""), "*") }
	rng := rand.New(rand.NewPCG(7, 8))
	mixed := "/"
	for len(mixed) < 2000 {
		mixed += letters(rng.IntN(1<<20), 4)
	}
	as := "/" + strings.Repeat("a", 2000)
	return []hostile{
		{
			name:   "the same pattern with many stars",
			robots: file(10_000, func(int) string { return "/*a*a*a*a*a*b" }),
			target: as,
		},
		{
			name:   "many stars and different ends",
			robots: file(10_000, func(i int) string { return "/*a*a*a*a*a*" + letters(i, 3) + "z" }),
			target: as,
		},
		{
			name:   "one segment in all patterns",
			robots: file(10_000, func(i int) string { return "/*aaaa*" + letters(i, 3) }),
			target: as,
		},
		{
			name:   "one segment in all patterns, at the end of the target",
			robots: file(10_000, func(i int) string { return "/*aaab*" + letters(i, 3) }),
			target: as + "b",
		},
		{
			name:   "segments of one byte",
			robots: file(10_000, func(i int) string { return "/*" + starred(i, 4) + "*z$" }),
			target: mixed + "z?",
		},
		{
			name: "segments that the target contains",
			robots: file(10_000, func(i int) string {
				return "/*" + mixed[1+i%1900:][:4] + "*" + letters(i, 2) + "Z"
			}),
			target: mixed,
		},
		{
			name: "segments in the wrong order",
			robots: file(10_000, func(i int) string {
				return "/*" + mixed[1001+i%900:][:6] + "*" + mixed[1+i%900:][:6]
			}),
			target: mixed,
		},
		{
			name:   "patterns that are prefixes of each other",
			robots: file(900, func(i int) string { return "/" + strings.Repeat("a", i) + "$" }),
			target: as,
		},
		{
			name:   "escapes that differ in path and query",
			robots: file(10_000, func(i int) string { return "/*%2F" + letters(i, 3) }),
			target: "/?" + strings.Repeat("/", 2000),
		},
		{
			name: "long patterns with escapes that differ in path and query",
			robots: file(80, func(i int) string {
				return "/*" + strings.Repeat("%2F", 2000) + letters(i, 3)
			}),
			target: "/?" + strings.Repeat("/", 2000),
		},
		{
			name:   "bytes in the wrong order",
			robots: file(10_000, func(i int) string { return "/*" + starred(i, 4) + "*Q" }),
			target: "/Q" + mixed,
		},
		{
			name: "segments that occur several times",
			robots: file(10_000, func(i int) string {
				return "/" + strings.Repeat("*"+mixed[1+i%1900:][:5], 3) + "*" + letters(i/1900, 1)
			}),
			target:    mixed + mixed[1:],
			isTooMuch: true,
		},
		{
			name: "a long target",
			robots: file(10_000, func(i int) string {
				return "/*" + mixed[1001+i%900:][:6] + "*" + mixed[1+i%900:][:6]
			}),
			target: strings.Repeat(mixed, 500),
		},
		{
			name:   "short segments and a long target",
			robots: file(46_000, func(i int) string { return "/*" + letters(i, 3) }),
			target: "/" + strings.Repeat("z", 1<<20),
		},
	}
}

// TestWorkBound checks that no hostile file takes more steps than the limit for
// its target, plus the steps of trying one rule.
func TestWorkBound(t *testing.T) {
	for _, h := range hostileFiles() {
		t.Run(h.name, func(t *testing.T) {
			rules := parse(h.robots).Rules()
			target := string(match.AppendTarget(nil, h.target, syntax.RFC9309))
			limit := 16_777_216 + 32*len(target) // see the doc of Rules
			lastRule := len(target) + MaxSize    // trying the last rule may exceed the limit by this
			_, outcome, steps := rules.set.Decide(h.target)
			if steps > limit+lastRule {
				t.Errorf("matching takes %d steps, want at most %d", steps, limit+lastRule)
			}
			if got, want := outcome == match.TooMuchWork, steps > limit; got != want {
				t.Errorf("TooMuchWork is %t after %d steps, want %t", got, steps, want)
			}
			m := rules.Match(h.target)
			if got := m.Reason == TooMuchWork; got != h.isTooMuch {
				t.Errorf("Match returns the reason %v, want TooMuchWork: %t", m.Reason, h.isTooMuch)
			}
			// A match may take seconds, so there are few runs. In each, the
			// runtime may allocate, or a garbage collection may empty a pool.
			if n := testing.AllocsPerRun(2, func() { rules.Match(h.target) }); n > 10 && !testmain.RaceEnabled {
				t.Errorf("Match makes %v allocations, want at most 10", n)
			}
			if m.Reason == TooMuchWork && m.Allowed {
				t.Error("Match allows a target with the reason TooMuchWork, want it disallowed")
			}
			if problems := lint.Check([]byte(h.robots)); len(problems) > 1001 {
				t.Errorf("Check returns %d problems, want at most 1001", len(problems))
			}
			t.Logf("%v, %d of %d steps, line %d", m.Reason, steps, limit, m.Line)
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for _, h := range hostileFiles() {
		rules := parse(h.robots).Rules()
		b.Run(strings.ReplaceAll(h.name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				rules.Allowed(h.target)
			}
		})
	}
}

// TestHostileBodies checks that bodies that are much longer or stranger than
// real files are parsed, within the documented memory.
func TestHostileBodies(t *testing.T) {
	for name, body := range map[string]string{
		"10 MB of rules":        "user-agent: *\n" + strings.Repeat("disallow: /x\n", 800_000),
		"10 MB without an end":  "user-agent: *\ndisallow: /x" + strings.Repeat("x", 10<<20),
		"10 MB of line ends":    "user-agent: *\ndisallow: /x\n" + strings.Repeat("\r\n", 5<<20),
		"10 MB of NUL":          "user-agent: *\ndisallow: /x\n" + strings.Repeat("\x00", 10<<20),
		"10 MB of colons":       "user-agent: *\ndisallow: /x\n" + strings.Repeat("a:\n", 3<<20),
		"many short rules":      "user-agent: *\n" + strings.Repeat("allow:/\n", 70_000),
		"many user-agents":      strings.Repeat("user-agent:*\n", 70_000) + "disallow: /x\n",
		"many groups":           strings.Repeat("user-agent:*\nallow:/\n", 40_000),
		"an HTML page":          "<!doctype html>\n<title>x</title>\n" + strings.Repeat("<p>user-agent: *</p>\n", 10_000),
		"a pattern of stars":    "user-agent: *\ndisallow: /" + strings.Repeat("*", 400_000) + "x\n",
		"a pattern of escapes":  "user-agent: *\ndisallow: /" + strings.Repeat("%e3", 150_000) + "\n",
		"bytes beyond ASCII":    "user-agent: *\ndisallow: /" + strings.Repeat("\xe3", 450_000) + "\n",
		"more stars than count": "user-agent: *\ndisallow: /x" + strings.Repeat("*", 5000) + "\nallow: /xy\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(body)
			rules := f.Rules("ExampleBot")
			rules.Match("/xyz") // must not panic
			if len(f.syntax.Text) > MaxSize {
				t.Errorf("the File retains %d bytes, want at most %d", len(f.syntax.Text), MaxSize)
			}
			if limit := 6 * (MaxSize + 200); rules.Size() > limit {
				t.Errorf("Rules.Size returns %d, want at most %d", rules.Size(), limit)
			}
			lint.Check([]byte(body)) // must not panic
		})
	}
}
