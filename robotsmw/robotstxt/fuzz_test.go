package robotstxt

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzMatch holds the compiled matcher to its readable twin: same rule, same line, same verdict.
func FuzzMatch(f *testing.F) {
	for _, seed := range []struct{ robots, target string }{
		{"user-agent: *\ndisallow: /a\nallow: /a/b\n", "/a/b/c"},
		{"user-agent: *\ndisallow: /*.php$\nallow: /*?x=%2F", "/a.php?x=/"},
		{"user-agent: *\ndisallow: /*%2Fb*%3Fc\nallow: *%2A%24$", "/a?x%2fb/?c*$"},
		{"user-agent: *\ndisallow: /%%32%46*%\n", "/%2F%"},
		{"user-agent: *\ndisallow: /\u30c4*\x01\xff\n", "http://h/%e3%83%84\x01%FF#x"},
		{"user-agent: *\n" + strings.Repeat("disallow: /x*abcd*y\nallow: /xa*bcde\nallow: /xab$\n", 9), "/xabcdef"},
	} {
		f.Add(seed.robots, seed.target)
	}
	f.Fuzz(func(t *testing.T, robots, target string) {
		file := Parse([]byte(robots))
		compareWithTwin(t, file, target)
	})
}

// compareWithTwin checks one verdict for "*".
func compareWithTwin(t *testing.T, f *File, target string) {
	t.Helper()
	got := f.Rules().Match(target)
	want, ok := twinMatch(twinRules(f), target)
	octets, _ := twinTarget(target)
	switch {
	case got.Reason == TooMuchWork:
	case octets == "/robots.txt":
		if !got.Allowed || got.Reason != IsRobotsTxt {
			t.Errorf("%q: %+v, want robots.txt itself to be allowed", target, got)
		}
	case !ok:
		if !got.Allowed || got.Line != 0 {
			t.Errorf("%q: %+v, want no rule to match", target, got)
		}
	case got.Allowed != want.allow || got.Line != want.line || got.Pattern != want.pattern:
		t.Errorf("%q: %+v, want %+v", target, got, want)
	}
}

// FuzzMatchDense is FuzzMatch on rules and a target that are made of the octets that matter, so that most of them
// have something to do with each other. Each octet of the input stands for a token.
func FuzzMatchDense(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte("0123456789"))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		rules, target := make([]byte, rng.IntN(400)), make([]byte, rng.IntN(30))
		for i := range rules {
			rules[i] = byte(rng.Uint32())
		}
		for i := range target {
			target[i] = byte(rng.Uint32())
		}
		f.Add(rules, target)
	}
	f.Fuzz(func(t *testing.T, rules, target []byte) {
		compareWithTwin(t, Parse(denseRobots(rules)), denseTarget(target))
	})
}

// TestMatchesTwin is FuzzMatchDense on random input.
func TestMatchesTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	octets := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for range 3000 {
		f := Parse(denseRobots(octets(rng.IntN(600))))
		for range 10 {
			compareWithTwin(t, f, denseTarget(octets(rng.IntN(40))))
			if t.Failed() {
				t.Fatalf("robots.txt:\n%s", f.text)
			}
		}
	}
}

var denseTokens = []string{"a", "b", "ab", "abab", "/", "/", "?", "%2F", "%3f", "*", "$", "%2A", "%24", "%", "2", "F", "%61", "%25", "\xe3", "%e3", " ", "#"}

func denseRobots(choices []byte) []byte {
	var b strings.Builder
	b.WriteString("user-agent: *\n")
	for _, c := range choices {
		switch n := int(c) % (len(denseTokens) + 6); {
		case n < len(denseTokens)-1:
			b.WriteString(denseTokens[n])
		case n%2 == 0:
			b.WriteString("\nallow: /")
		case n%3 == 0:
			b.WriteString("\ndisallow: *")
		default:
			b.WriteString("\ndisallow: /")
		}
	}
	return []byte(b.String())
}

func denseTarget(choices []byte) string {
	var b strings.Builder
	b.WriteString("/")
	for _, c := range choices {
		b.WriteString(denseTokens[int(c)%len(denseTokens)])
	}
	return b.String()
}
